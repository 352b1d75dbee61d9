import type { JsonObject } from '../cel/values/value.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { IdentityVariable } from '../exchange/identity.ts'
import type { Attached } from '../model/policy.ts'
import { secretText } from '../model/secret.ts'
import type { Authentication } from '../policies/authentication/schema.ts'
import { parseHtpasswd, type Users } from '../policies/basic-auth/htpasswd.ts'
import type { BasicAuth } from '../policies/basic-auth/schema.ts'
import type { CredentialLocation } from '../policies/credential-location.ts'
import { maySend } from '../policies/find-credential.ts'
import type { JwtAuthentication } from '../policies/jwt-authentication/schema.ts'
import { checkTimes, malformedClaim } from '../policies/jwt-authentication/verify.ts'
import { IDENTIFYING } from '../reach/kinds.ts'

export type HypotheticalIdentity = Readonly<Partial<Record<IdentityVariable, JsonObject>>>

/** What an authentication would accept of a hypothetical identity. */
export interface Recognized {
  /** The variables that it can set. */
  readonly variables: readonly IdentityVariable[]
  /**
   * The variables that it sets: if clients can authenticate in several ways, those of the first one
   * that succeeds.
   */
  readonly accepted: readonly IdentityVariable[]
  /** Why a token or user is not accepted. */
  readonly rejection: string | undefined
}

export function recognize(policy: Attached, identity: HypotheticalIdentity): Recognized {
  const members = membersOf(policy)
  const variables = [...new Set(members.flatMap(({ kind }) => IDENTIFYING.get(kind) ?? []))]
  let rejection: string | undefined
  for (const { kind, value } of members) {
    const given = (IDENTIFYING.get(kind) ?? []).filter((one) => identity[one] !== undefined)
    if (given.length === 0) continue
    const bad = REJECTIONS[kind]?.(value, identity)
    if (bad === undefined) return { variables, accepted: given, rejection: undefined }
    rejection ??= bad
  }
  return { variables, accepted: [], rejection }
}

/** What of an identity is compared with the policy. */
const REJECTIONS: Readonly<
  Record<string, (value: unknown, identity: HypotheticalIdentity) => string | undefined>
> = {
  jwtAuthentication: (value, { jwt }) => tokenRejection(value, jwt),
  basicAuth: (value, { basicAuth }) => userRejection(value as BasicAuth, basicAuth),
}

/** Passwords are not given; names that are not listed have none. */
function userRejection({ htpasswd }: BasicAuth, user: JsonObject | undefined): string | undefined {
  const users = usersIn(htpasswd)
  const name = user?.['username']
  if (users === undefined || typeof name !== 'string') return undefined
  return users.byName.has(name) ? undefined : `user ${name} is unknown`
}

/** Undefined if its text is unknown. */
function usersIn(htpasswd: BasicAuth['htpasswd']): Users | undefined {
  const known = USERS.get(htpasswd)
  const text = known === undefined ? secretText(htpasswd) : undefined
  if (text === undefined) return known
  const users = parseHtpasswd(text)
  USERS.set(htpasswd, users)
  return users
}

const USERS = new WeakMap<object, Users>()

/** Whether the request has a credential for which no identity is given: it is not verified here. */
export function isUnverified(
  policy: Attached,
  exchange: Exchange,
  identity: HypotheticalIdentity,
): boolean {
  return membersOf(policy).some(({ kind, value }) => {
    const { location } = value as { readonly location?: CredentialLocation }
    const variables = IDENTIFYING.get(kind) ?? []
    if (location === undefined || variables.some((one) => identity[one] !== undefined)) return false
    return maySend(location, exchange)
  })
}

function membersOf(
  policy: Attached,
): readonly { readonly kind: string; readonly value: unknown }[] {
  if (policy.state !== 'valid') return []
  if (policy.kind === 'authentication') return (policy.value as Authentication).anyOf
  return [policy]
}

/**
 * Why tokens with these claims are not accepted; undefined if they may be. Claims that are not
 * given are assumed to satisfy the policy, and only those that select a provider are checked.
 */
function tokenRejection(value: unknown, claims: JsonObject | undefined): string | undefined {
  if (claims === undefined) return undefined
  const { providers } = value as JwtAuthentication
  const { iss, aud } = claims
  const own = providers.filter(({ issuer }) => iss === undefined || issuer === iss)
  if (own.length === 0) return `tokens from issuer ${String(iss)} are not accepted`
  const list: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const isMeant = own.some(
    ({ audiences }) =>
      aud === undefined || audiences.length === 0 || audiences.some((one) => list.includes(one)),
  )
  if (!isMeant) return `tokens for audience ${list.map(String).join(', ')} are not accepted`
  const malformed = malformedClaim(claims)
  return malformed && `tokens are not accepted whose ${malformed.detail}`
}

/** Whether a token with these claims can be valid now; a recorded one need not be. */
export function isGoodNow({ jwt }: HypotheticalIdentity): boolean {
  return jwt === undefined || (malformedClaim(jwt) ?? checkTimes(jwt, 0, Date.now())) === undefined
}
