import type { JsonObject } from '../cel/values/value.ts'
import type { Attached } from '../model/policy.ts'
import type { JwtAuthentication } from '../policies/jwt-authentication/schema.ts'

/**
 * Why a policy does not accept a token with these claims; undefined: it may. Claims that are not
 * given are as the policy wants them, and only those that pick a provider are looked at.
 */
export function tokenRefusal(policy: Attached, claims: JsonObject | undefined): string | undefined {
  if (policy.kind !== 'jwtAuthentication' || policy.state !== 'valid') return undefined
  if (claims === undefined) return undefined
  const { providers } = policy.value as JwtAuthentication
  const { iss, aud } = claims
  const own = providers.filter(({ issuer }) => iss === undefined || issuer === iss)
  if (own.length === 0) return `tokens of ${String(iss)} are not taken`
  const list: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const isMeant = own.some(
    ({ audiences }) =>
      aud === undefined || audiences.length === 0 || audiences.some((one) => list.includes(one)),
  )
  return isMeant ? undefined : `tokens for ${list.map(String).join(', ')} are not taken`
}
