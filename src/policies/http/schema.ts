import * as z from 'zod'
import { duration, scalar } from '../scalars.ts'

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
        'HTTP1 or HTTP2; absent: that of the request where TLS settles on it, else HTTP1. WebSocket needs HTTP1: over HTTP2 it is answered with 502.',
      ),
    requestTimeout: duration()
      .optional()
      .describe(
        'How long one attempt may take, as `timeout.backendRequest`, which it goes before.',
      ),
  })
  .describe('How to speak HTTP to the backend.')

export type Http = z.output<typeof http>
