import * as z from 'zod'
import { byteSize, choice, duration } from '../scalars.ts'

export const frontendHttp = z
  .strictObject({
    maxHeadSize: byteSize().prefault('64Ki').describe('Max size of the request line and headers.'),
    http1MaxHeaders: z
      .int()
      .min(1)
      .max(4096)
      .prefault(100)
      .describe('Max number of request headers.'),
    maxBodySize: byteSize()
      .optional()
      .describe(
        'Max size of a request body; larger ones get 413. Default: no limit, because bodies are streamed.',
      ),
    maxBufferSize: byteSize()
      .prefault('2Mi')
      .describe('Max size of a body that is buffered for a policy or an expression.'),
    maxModelBodySize: byteSize()
      .prefault('32Mi')
      .describe(
        'Max size of the body of a call to a model, unless `maxBufferSize` is larger. All bodies that are ' +
          'buffered have a limit together; see the reference of limits.',
      ),
    maxJsonSize: byteSize()
      .prefault('2Mi')
      .describe(
        'Max size of JSON that an expression parses with `json()`. Bodies are also limited by ' +
          '`maxBufferSize`. Beyond the limit, Deny rules deny and other rules do not match.',
      ),
    headTimeout: duration()
      .prefault('15s')
      .describe('The timeout for receiving the request line and headers.'),
    bodyTimeout: duration().prefault('1m').describe('The idle timeout while a body is received.'),
    http1IdleTimeout: duration()
      .prefault('10m')
      .describe('How long an idle connection is kept open.'),
    http1HeaderCase: choice('Lowercase', 'Preserve')
      .prefault('Preserve')
      .describe(
        'The case of header names in HTTP/1.1, to backends and to clients: as received or ' +
          'as set by a policy, or all lowercase.',
      ),
    upgrades: z
      .array(
        z
          .string()
          .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}(?:\/[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64})?$/)
          .transform((name) => name.toLowerCase()),
      )
      .max(16)
      .optional()
      .describe(
        'Protocols other than WebSocket to which clients may switch with `Upgrade`, such as ' +
          '`spdy/3.1`. An upgrade to any other protocol is ignored: the request is forwarded without it. ' +
          'Rules are not evaluated inside the tunnel.',
      ),
    http2MaxConcurrentStreams: z
      .int()
      .min(1)
      .max(10_000)
      .prefault(100)
      .describe('Max concurrent streams.'),
    http2MaxResetsPerSecond: z
      .int()
      .min(1)
      .max(100_000)
      .prefault(100)
      .describe('Max stream resets per second.'),
    http2MaxControlFramesPerSecond: z
      .int()
      .min(1)
      .max(100_000)
      .prefault(1000)
      .describe('Max control frames per second, such as PING and SETTINGS.'),
    http2WindowSize: byteSize()
      .prefault('256Ki')
      .describe(
        'The initial window of a stream. It grows while the body is consumed as fast as it arrives.',
      ),
    http2ConnectionWindowSize: byteSize().prefault('1Mi').describe('The window of a connection.'),
    http2FrameSize: z
      .int()
      .min(16_384)
      .max(16_777_215)
      .prefault(16_384)
      .describe('Max size of a frame.'),
    http2MaxHeaderSize: byteSize().optional().describe('Max size of the header list.'),
    http2KeepaliveInterval: duration().prefault('30s').describe('How often to send PING.'),
    http2KeepaliveTimeout: duration()
      .prefault('15s')
      .describe('How long to wait for a PING acknowledgment.'),
    maxConnectionDuration: duration().optional().describe('Max age of a connection.'),
    mergeSlashes: z
      .boolean()
      .prefault(true)
      .describe(
        'Merges adjacent slashes in paths before routing, rules and backends see the path, so ' +
          'that a rule about `/admin` also applies to `//admin`. Set it to `false` only for ' +
          'backends that distinguish the two.',
      ),
    headersWithUnderscores: choice('Auto', 'Allow', 'Drop', 'Reject')
      .prefault('Auto')
      .describe(
        'How to handle headers such as `x_role`, which many backends treat as `x-role`. Auto: ' +
          '400 if the header could be mistaken for one that a rule or route reads, or if a rule reads ' +
          'all headers. Drop removes and Reject rejects (400) all names with an underscore; ' +
          'Allow forwards them.',
      ),
    requestTrailers: choice('Drop', 'Forward')
      .prefault('Drop')
      .describe(
        'How to handle request trailers, which arrive after the rules were evaluated. ' +
          'Forward: those that could be mistaken for a header that a rule or route reads are ' +
          'still dropped.',
      ),
    forwarded: choice('Auto', 'Preserve', 'Off')
      .prefault('Auto')
      .describe(
        'The headers about the client that backends get. Auto: the gateway sets X-Forwarded-For, ' +
          'X-Forwarded-Proto and X-Forwarded-Host, and removes these, X-Real-IP, Forwarded and similar ' +
          'headers that the client sent; behind `trustedHops`, it keeps those of the trusted ' +
          'proxies and appends to X-Forwarded-For. Preserve: backends get what the client sent, which ' +
          'can be forged. Off (in quotes in Kubernetes): backends get none of these headers.',
      ),
    trustedHops: z
      .int()
      .min(0)
      .max(16)
      .prefault(0)
      .describe(
        'The number of trusted proxies in front of the gateway. This many entries of X-Forwarded-For, from the right, are trusted, and ' +
          'the leftmost of them becomes `source.address`. Default: none.',
      ),
  })
  .describe('Limits and timeouts of HTTP connections.')

export type FrontendHttp = z.output<typeof frontendHttp>

/** Whether adjacent slashes are merged, by the policies for the connections of a gateway. */
export function mergesSlashes(
  frontend: readonly { readonly kind: string; readonly value?: unknown }[],
): boolean {
  const http = frontend.find(({ kind }) => kind === 'frontendHttp')?.value
  return (http as Partial<FrontendHttp> | undefined)?.mergeSlashes !== false
}
