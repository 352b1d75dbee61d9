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
      .describe('Fixed context extensions of the check request.'),
    metadata: expressions('Metadata context of the check request, by expression.'),
  })
  .describe("Envoy's ext_authz protocol, version 3.")

const http = z
  .strictObject({
    path: expression('string')
      .optional()
      .describe('The path to call; by default, that of the request.'),
    redirect: expression('string')
      .optional()
      .describe('Where to redirect clients that are denied.'),
    body: expression('string').optional().describe('The body to send.'),
    includeResponseHeaders: z
      .array(headerName())
      .max(64)
      .prefault([])
      .describe(
        'Headers of the response that are sent to the backend; headers of these names from clients are removed.',
      ),
    addRequestHeaders: z
      .record(headerOrPseudo(), expression('string'))
      .prefault({})
      .describe('Further headers to send, by expression.'),
    metadata: expressions(
      'What expressions read as `extauthz`, computed from the response of the service: ' +
        '`response.code`, `response.headers` and `response.body`.',
      'response',
    ),
  })
  .describe('A plain HTTP request: 2xx admits.')

const protocol = oneOfKeys(z.strictObject({ grpc: grpc.optional(), http: http.optional() }), [
  'grpc',
  'http',
])

const cache = z
  .strictObject({
    key: z.array(expression('any')).min(1).max(16).describe('The key of the cache.'),
    ttl: duration().describe('How long.'),
    maxEntries: z.int().min(1).max(1_000_000).prefault(10_000).describe('How many at most.'),
  })
  .optional()
  .describe('Caches decisions, denials included.')

const body = z
  .strictObject({
    maxRequestBytes: byteSize().prefault('8Ki').describe('How much of the body is sent.'),
    allowPartialMessage: z
      .boolean()
      .prefault(false)
      .describe(
        'Whether the beginning of a longer body is sent; otherwise the request is rejected.',
      ),
    packAsBytes: z.boolean().prefault(false).describe('Send it as bytes, not as text.'),
  })
  .optional()
  .describe('Sends the body of the request along.')

const failureMode = z
  .union([
    choice('Deny', 'Allow'),
    z.strictObject({
      denyWithStatus: z.int().min(400).max(599).describe('Deny, with this status.'),
    }),
  ])
  .prefault('Deny')
  .describe('What happens if the service cannot be reached.')

const SHAPE = {
  ...targetShape,
  protocol: protocol.prefault({ grpc: {} }).describe('How the service is called.'),
  failureMode,
  timeout: duration().prefault('10s').describe('How long to wait for a response.'),
  includeRequestHeaders: z
    .array(headerOrPseudo())
    .max(64)
    .prefault([])
    .describe('Headers of the request that are sent; none: all over gRPC, few over HTTP.'),
  includeRequestBody: body,
  cache,
}

export const plainExtAuthz = oneOfKeys(z.strictObject(SHAPE), TARGET_KEYS)
  .transform(withTarget)
  .describe('Calls an authorization service of your own. Fails closed by default.')

const entry = oneOfKeys(z.strictObject({ ...conditionOf(true), ...SHAPE }), TARGET_KEYS).transform(
  ({ condition, ...rest }) => toEntry(condition, withTarget(rest)),
)

/** An entry of `conditional` applies unless its condition is false. */
export const extAuthz = orConditional(plainExtAuthz, entry)

export type ExtAuthz = z.output<typeof plainExtAuthz>

/** The service is shown the body: all of it, unless its beginning is enough. */
export function bodyShown({ includeRequestBody }: ExtAuthz): 'whole' | 'beginning' | undefined {
  if (includeRequestBody === undefined) return undefined
  return includeRequestBody.allowPartialMessage ? 'beginning' : 'whole'
}

/** Whether it admits requests, or some of them, while its service cannot be reached. */
export function failsOpen(value: unknown): boolean {
  return valuesOf(value).some(
    (one) => (one as { readonly failureMode?: unknown }).failureMode === 'Allow',
  )
}
