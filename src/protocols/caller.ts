import { createHash } from 'node:crypto'
import { canonicalExactJson } from '../cel/values/json-exact.ts'
import type { Exchange } from '../exchange/exchange.ts'

/**
 * Identifies the sender of a request without revealing it: the same value for the same user,
 * whichever token the user currently has. Empty if the sender is unknown.
 */
export function callerOf(exchange: Exchange): string {
  const known: unknown[] = []
  for (let own = exchange.identity; own !== undefined; own = own.earlier) {
    const { variable, value } = own
    if (variable === 'jwt') known.push([variable, value.iss, value.sub ?? withoutTimes(value)])
    else if (variable !== 'extauthz') known.push([variable, value])
  }
  const { identity, fingerprint } = exchange.source
  if (identity !== undefined) known.push(['spiffe', identity])
  else if (fingerprint !== undefined) known.push(['certificate', fingerprint])
  if (known.length === 0) return ''
  const text = known.map((part) => canonicalExactJson(part)).sort()
  return createHash('sha256').update(text.join('\n')).digest('base64url').slice(0, 22)
}

/** The same for limits: without an identity, a client is known by its address. */
export function ownerOf(exchange: Exchange): string {
  const caller = callerOf(exchange)
  if (caller !== '') return caller
  const { address } = exchange.source
  // A client with an IPv6 address has all 2^64 addresses of its network.
  return address.family === 4 ? address.text : `${address.w0}:${address.w1}`
}

function withoutTimes(claims: object): object {
  const { exp: _, iat: __, nbf: ___, jti: ____, ...rest } = claims as Record<string, unknown>
  return rest
}
