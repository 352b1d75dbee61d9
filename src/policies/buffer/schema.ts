import * as z from 'zod'
import { byteSize, choice } from '../scalars.ts'
import { issue } from '../shapes.ts'

const limit = (status: number, what: string) =>
  z.strictObject({
    maxBytes: byteSize().prefault('2Mi').describe(`Bytes of a ${what} that are held.`),
    failureMode: choice('FailClosed', 'FailOpen')
      .prefault('FailClosed')
      .describe(
        `\`FailClosed\` rejects a longer one with ${status}; \`FailOpen\` lets it stream as if there were no buffer.`,
      ),
  })

export const buffer = z
  .strictObject({
    request: limit(413, 'request').optional().describe('For bodies of requests.'),
    response: limit(502, 'response').optional().describe('For bodies of responses.'),
  })
  .check(({ value, issues }) => {
    if (value.request !== undefined || value.response !== undefined) return
    const hint = 'write `request`, `response` or both'
    issues.push(issue(value, 'nothing is buffered', { rule: 'missing', hint }))
  })
  .describe(
    'Holds bodies until they are complete, then sends them with Content-Length. A slow client does ' +
      'not occupy a backend, and a response that a backend breaks off becomes 502. Bodies followed ' +
      'by trailers keep their chunks. gRPC and upgraded connections are not buffered. Applies after ' +
      'all other policies have admitted the request.',
  )

export type BufferLimits = z.output<typeof buffer>
