import * as z from 'zod'
import { byteSize, choice, duration } from '../scalars.ts'

export const frontendHttp = z
  .strictObject({
    maxHeadSize: byteSize().prefault('64Ki').describe('The longest head of a request.'),
    http1MaxHeaders: z.int().min(1).max(4096).prefault(100).describe('Headers of a request.'),
    maxBodySize: byteSize()
      .optional()
      .describe('The longest body of a request; beyond, 413. Absent: any, since none is kept.'),
    maxBufferSize: byteSize()
      .prefault('2Mi')
      .describe('How much of a body is kept where a policy or an expression reads it.'),
    maxJsonSize: byteSize()
      .prefault('2Mi')
      .describe(
        'The longest JSON that an expression reads with `json()`; a body is bounded by ' +
          '`maxBufferSize` as well. Beyond it a Deny rule denies, and no other matches.',
      ),
    headTimeout: duration().prefault('15s').describe('How long the head of a request may take.'),
    bodyTimeout: duration()
      .prefault('1m')
      .describe('How long nothing may come while a body is read.'),
    http1IdleTimeout: duration()
      .prefault('10m')
      .describe('How long a connection may wait for its next request.'),
    http1HeaderCase: choice('Lowercase', 'Preserve')
      .prefault('Preserve')
      .describe(
        'How names of headers are written in HTTP/1.1, to backends and to clients: as they came or ' +
          'as the policy has them that adds them, or all in lower case.',
      ),
    http2MaxConcurrentStreams: z
      .int()
      .min(1)
      .max(10_000)
      .prefault(100)
      .describe('Requests at once.'),
    http2MaxResetsPerSecond: z
      .int()
      .min(1)
      .max(100_000)
      .prefault(100)
      .describe('Streams given up.'),
    http2MaxControlFramesPerSecond: z
      .int()
      .min(1)
      .max(100_000)
      .prefault(1000)
      .describe('PING, SETTINGS and the like.'),
    http2WindowSize: byteSize()
      .prefault('256Ki')
      .describe('The window of a stream at first; it grows while the body is taken as it comes.'),
    http2ConnectionWindowSize: byteSize().prefault('1Mi').describe('The window of a connection.'),
    http2FrameSize: z
      .int()
      .min(16_384)
      .max(16_777_215)
      .prefault(16_384)
      .describe('The longest frame.'),
    http2MaxHeaderSize: byteSize().optional().describe('The longest list of headers.'),
    http2KeepaliveInterval: duration().prefault('30s').describe('How often to send PING.'),
    http2KeepaliveTimeout: duration().prefault('15s').describe('How long to wait for the reply.'),
    maxConnectionDuration: duration().optional().describe('How old a connection may become.'),
    mergeSlashes: z
      .boolean()
      .prefault(true)
      .describe(
        'Adjacent slashes in paths become one before routes, rules and backends see the path, so ' +
          'that a rule about `/admin` decides about `//admin` too. `false` keeps them: only for ' +
          'backends that tell the two apart.',
      ),
    headersWithUnderscores: choice('Auto', 'Allow', 'Drop', 'Reject')
      .prefault('Auto')
      .describe(
        'What happens to headers such as `x_role`, which many backends take for `x-role`. Auto: ' +
          '400 if it could be taken for a header that a rule or a route reads, or if a rule reads ' +
          'all headers. Drop removes and Reject rejects (400) every name with an underscore; ' +
          'Allow forwards them.',
      ),
    requestTrailers: choice('Drop', 'Forward')
      .prefault('Drop')
      .describe(
        'What happens to trailers of requests, which come after the rules were evaluated. ' +
          'Forward: those that could be taken for a header that a rule or a route reads are ' +
          'dropped even so.',
      ),
    trustedHops: z
      .int()
      .min(0)
      .max(16)
      .prefault(0)
      .describe(
        'Proxies in front. So many entries of X-Forwarded-For, from the right, are believed, and ' +
          'the first of these is `source.address`; none by default.',
      ),
  })
  .describe('Limits and times of HTTP connections.')

export type FrontendHttp = z.output<typeof frontendHttp>

/** Whether adjacent slashes are merged, by the policies that hold for the connections of a gateway. */
export function mergesSlashes(
  frontend: readonly { readonly kind: string; readonly value?: unknown }[],
): boolean {
  const http = frontend.find(({ kind }) => kind === 'frontendHttp')?.value
  return (http as Partial<FrontendHttp> | undefined)?.mergeSlashes !== false
}
