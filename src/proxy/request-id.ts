import { type RequestId, requestIdOf } from '../telemetry/request-id.ts'
import { type Fields, joinedValue } from '../wire/http1/fields.ts'

/**
 * An id of the gateway's own: a client that could choose it could have its request taken for
 * another one. Trusted proxies in front may, so that their records and ours can be joined.
 */
export function idOf(
  fields: Fields,
  port: { readonly trustedHops: number; nextId(): RequestId },
): RequestId {
  const given = port.trustedHops === 0 ? undefined : joinedValue(fields, 'x-request-id')
  return (given === undefined ? undefined : requestIdOf(given)) ?? port.nextId()
}
