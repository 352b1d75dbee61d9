import * as z from 'zod'
import { conditionOf, orConditional, toEntry, valuesOf } from '../conditional.ts'
import { byteSize, choice, duration, expression, headerName } from '../scalars.ts'
import { oneOfKeys } from '../shapes.ts'
import { TARGET_KEYS, targetShape, withTarget } from '../target.ts'

const expressions = (what: string, stage?: 'response') =>
  z.record(z.string().min(1).max(256), expression('any', stage)).prefault({}).describe(what)

const headerOrPseudo = () => z.string().regex(/^:?[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/)

const grpc = z
  .strictObject({
    context: z
      .record(z.string(), z.string())
      .prefault({})
      .describe('Static context extensions of the check request.'),
    metadata: expressions('Metadata context of the check request, as CEL expressions.'),
  })
  .describe("Envoy's ext_authz protocol, version 3.")

const http = z
  .strictObject({
    path: expression('string')
      .optional()
      .describe('The path to call. Defaults to the path of the request.'),
    redirect: expression('string').optional().describe('Where to redirect denied clients.'),
    body: expression('string').optional().describe('The body to send.'),
    includeResponseHeaders: z
      .array(headerName())
      .max(64)
      .prefault([])
      .describe(
        'Response headers to forward to the backend. Client headers with these names are removed.',
      ),
    addRequestHeaders: z
      .record(headerOrPseudo(), expression('string'))
      .prefault({})
      .describe('Additional headers to send, as CEL expressions.'),
    metadata: expressions(
      'Metadata that is available to expressions as `extauthz`, computed from the response of the service: ' +
        '`response.code`, `response.headers` and `response.body`.',
      'response',
    ),
  })
  .describe('A plain HTTP request. Responses with 2xx admit the request.')

const protocol = oneOfKeys(z.strictObject({ grpc: grpc.optional(), http: http.optional() }), [
  'grpc',
  'http',
])

const cache = z
  .strictObject({
    key: z.array(expression('any')).min(1).max(16).describe('The cache key.'),
    ttl: duration().describe('How long to cache decisions.'),
    maxEntries: z
      .int()
      .min(1)
      .max(1_000_000)
      .prefault(10_000)
      .describe('Max number of cached decisions.'),
  })
  .optional()
  .describe('Caches decisions, including denials.')

const body = z
  .strictObject({
    maxRequestBytes: byteSize().prefault('8Ki').describe('Max bytes of the body to send.'),
    allowPartialMessage: z
      .boolean()
      .prefault(false)
      .describe(
        'Whether to send the beginning of larger bodies; otherwise such requests are rejected.',
      ),
    packAsBytes: z.boolean().prefault(false).describe('Send the body as bytes instead of text.'),
  })
  .optional()
  .describe('Sends the request body to the service.')

const failureMode = z
  .union([
    choice('Deny', 'Allow'),
    z.strictObject({
      denyWithStatus: z.int().min(400).max(599).describe('Deny the request with this status.'),
    }),
  ])
  .prefault('Deny')
  .describe('What to do if the service is unavailable.')

const SHAPE = {
  ...targetShape,
  protocol: protocol.prefault({ grpc: {} }).describe('The protocol of the service.'),
  failureMode,
  timeout: duration().prefault('10s').describe('The timeout of calls to the service.'),
  includeRequestHeaders: z
    .array(headerOrPseudo())
    .max(64)
    .prefault([])
    .describe('Request headers to send. By default, all over gRPC and a few over HTTP.'),
  includeRequestBody: body,
  cache,
}

export const plainExtAuthz = oneOfKeys(z.strictObject(SHAPE), TARGET_KEYS)
  .transform(withTarget)
  .describe('Calls an external authorization service. Fails closed by default.')

const entry = oneOfKeys(z.strictObject({ ...conditionOf(true), ...SHAPE }), TARGET_KEYS).transform(
  ({ condition, ...rest }) => toEntry(condition, withTarget(rest)),
)

/** An entry of `conditional` applies unless its condition is false. */
export const extAuthz = orConditional(plainExtAuthz, entry)

export type ExtAuthz = z.output<typeof plainExtAuthz>

/** How much of the body the service receives: all of it, unless its beginning is enough. */
export function bodyShown({ includeRequestBody }: ExtAuthz): 'whole' | 'beginning' | undefined {
  if (includeRequestBody === undefined) return undefined
  return includeRequestBody.allowPartialMessage ? 'beginning' : 'whole'
}

/** Whether requests, or some of them, are admitted while the service is unavailable. */
export function failsOpen(value: unknown): boolean {
  return valuesOf(value).some(
    (one) => (one as { readonly failureMode?: unknown }).failureMode === 'Allow',
  )
}
