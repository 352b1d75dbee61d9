import { type RequestId, requestIdOf } from '../telemetry/request-id.ts'
import { type Fields, joinedValue } from '../wire/http1/fields.ts'

/**
 * The gateway's own id: a client that could choose it could pass its request off as another one.
 * Trusted proxies in front may choose it, so that their records can be joined with the gateway's.
 */
export function idOf(
  fields: Fields,
  port: { readonly trustedHops: number; nextId(): RequestId },
): RequestId {
  const given = port.trustedHops === 0 ? undefined : joinedValue(fields, 'x-request-id')
  return (given === undefined ? undefined : requestIdOf(given)) ?? port.nextId()
}
