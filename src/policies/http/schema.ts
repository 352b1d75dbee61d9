import * as z from 'zod'
import { byteSize, duration, scalar } from '../scalars.ts'

const version = () =>
  z.union([
    z.literal([1, 1.1, 2]).transform((number) => (number === 2 ? '2' : '1.1')),
    scalar<'1.1' | '2'>({
      what: 'a version of HTTP',
      hint: 'HTTP1 and HTTP2 are supported',
      pattern: /^([Hh][Tt][Tt][Pp]\/?)?(1|1\.1|2|2\.0)$/,
      parse: (text) => (/2(\.0)?$/.test(text) ? '2' : '1.1'),
    }),
  ])

export const http = z
  .strictObject({
    version: version()
      .optional()
      .describe(
        'HTTP1 or HTTP2; absent: HTTP1. gRPC needs HTTP2. WebSocket uses HTTP2 if the backend offers it (RFC 8441), and gets 502 if it does not.',
      ),
    requestTimeout: duration()
      .optional()
      .describe(
        'How long one attempt may take, as `timeout.backendRequest`, which it goes before.',
      ),
    maxResponseHeadSize: byteSize()
      .prefault('32Ki')
      .describe('Max bytes of the status line and headers of a response; beyond them, 502.'),
    maxResponseHeaders: z
      .int()
      .min(1)
      .max(4096)
      .prefault(100)
      .describe('Max number of headers in a response; beyond them, 502.'),
  })
  .describe('HTTP to the backend.')

export type Http = z.output<typeof http>
