import * as z from 'zod'
import { byteSize, choice } from '../scalars.ts'
import { issue } from '../shapes.ts'

const limit = (status: number, what: string) =>
  z.strictObject({
    maxBytes: byteSize().prefault('2Mi').describe(`Max bytes of a ${what} to buffer.`),
    failureMode: choice('FailClosed', 'FailOpen')
      .prefault('FailClosed')
      .describe(
        `\`FailClosed\` rejects larger bodies with ${status}; \`FailOpen\` streams them without buffering.`,
      ),
  })

export const buffer = z
  .strictObject({
    request: limit(413, 'request').optional().describe('Buffers request bodies.'),
    response: limit(502, 'response').optional().describe('Buffers response bodies.'),
  })
  .check(({ value, issues }) => {
    if (value.request !== undefined || value.response !== undefined) return
    const hint = 'set `request`, `response` or both'
    issues.push(issue(value, 'neither `request` nor `response` is set', { rule: 'missing', hint }))
  })
  .describe(
    'Buffers bodies until they are complete, then sends them with Content-Length. Slow clients do ' +
      'not occupy a backend, and incomplete responses become 502. Bodies with ' +
      'trailers stay chunked. gRPC and upgraded connections are not buffered. Applies after ' +
      'all other policies have admitted the request.',
  )

export type BufferLimits = z.output<typeof buffer>
