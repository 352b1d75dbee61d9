import * as z from 'zod'
import { byteSize, duration, scalar } from '../scalars.ts'

const version = () =>
  z.union([
    z.literal([1, 1.1, 2]).transform((number) => (number === 2 ? '2' : '1.1')),
    scalar<'1.1' | '2'>({
      what: 'an HTTP version',
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
        'HTTP1 (the default) or HTTP2. gRPC requires HTTP2. WebSocket uses HTTP2 if the backend supports it (RFC 8441), and gets 502 otherwise.',
      ),
    requestTimeout: duration()
      .optional()
      .describe('The timeout of each attempt. Takes precedence over `timeout.backendRequest`.'),
    responseIdleTimeout: duration()
      .optional()
      .describe(
        'The timeout of each pause in a response that has begun. Takes precedence over `timeout.responseIdle`.',
      ),
    maxResponseHeadSize: byteSize()
      .prefault('32Ki')
      .describe(
        'Max size of the status line and headers of a response. Larger ones result in a 502.',
      ),
    maxResponseHeaders: z
      .int()
      .min(1)
      .max(4096)
      .prefault(100)
      .describe('Max number of headers in a response. More result in a 502.'),
  })
  .describe('HTTP settings for the backend.')

export type Http = z.output<typeof http>
