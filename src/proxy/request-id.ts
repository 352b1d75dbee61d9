import { type Fields, joinedValue } from '../wire/http1/fields.ts'

/** An id that can stand in logs, addresses and headers as it is. */
const USABLE = /^[A-Za-z0-9._-]{1,128}$/

/**
 * An id of the gateway's own: a client that could choose it could have its request taken for
 * another one. Trusted proxies in front may, so that their records and ours can be joined.
 */
export function idOf(
  fields: Fields,
  port: { readonly trustedHops: number; nextId(): string },
): string {
  const given = port.trustedHops === 0 ? undefined : joinedValue(fields, 'x-request-id')
  return given !== undefined && USABLE.test(given) ? given : port.nextId()
}
