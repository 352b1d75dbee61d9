import { newBody, piece, says, startProcessor } from '../proxy/processor.ts'

export interface BodyProcessors {
  /** Fills in the ports of `processorPolicy`. */
  withPorts(policies: string): string
  close(): void
}

/** The policy of a processor that gets one of both bodies, in this mode. */
export function processorPolicy(body: 'requestBody' | 'responseBody', mode: string): string {
  const other = body === 'requestBody' ? 'responseBody' : 'requestBody'
  return `extProc: { host: '127.0.0.1:PORT_OF_${mode}', processingOptions: { ${body}Mode: ${mode}, ${other}Mode: none } }`
}

/** One adds braces to a complete body, and the other writes `A` for `a` in pieces. */
export async function startBodyProcessors(
  phaseOfBody: 'requestBody' | 'responseBody',
): Promise<BodyProcessors> {
  const complete = await startProcessor()
  const streaming = await startProcessor()
  complete.respondWith = ({ phase, body }) => [
    says(phase, phase === phaseOfBody ? { bodyMutation: newBody(`{${body}}`) } : {}),
  ]
  streaming.respondWith = ({ phase, body, endOfStream }) => {
    const bodyMutation = piece(body.replaceAll('a', 'A'), endOfStream)
    return [says(phase, phase === phaseOfBody ? { bodyMutation } : {})]
  }
  return {
    withPorts: (policies) =>
      policies
        .replace('PORT_OF_buffered', String(complete.port))
        .replace('PORT_OF_fullDuplexStreamed', String(streaming.port)),
    close() {
      complete.close()
      streaming.close()
    },
  }
}
