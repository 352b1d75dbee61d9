import { constants, verify } from 'node:crypto'
import type { JsonObject, Value } from '../../cel/values/value.ts'
import { freeze } from '../../model/freeze.ts'
import type { KeySource, VerificationKey, VerificationKeys } from './keys.ts'
import { isRejection, quote, type Rejection, reject } from './rejection.ts'
import { LAST_DATE } from './schema.ts'
import { type CompactJws, parseToken, readClaims } from './token.ts'

/** A trusted issuer, and what its tokens require. */
export interface Provider {
  readonly issuer: string
  /** Empty: any. */
  readonly audiences: readonly string[]
  readonly requiredClaims: readonly string[]
  /** The types of tokens, as `mediaType` writes them; undefined: those of access tokens, or none. */
  readonly types?: readonly string[] | undefined
  /** Max clock difference in milliseconds. */
  readonly leeway: number
  readonly keys: KeySource
}

/** The issuer of a token selects the provider; if it is listed twice, both are tried in order. */
export type Providers = ReadonlyMap<string, readonly Provider[]>

export interface Verified {
  /** One object for all requests with this token. */
  readonly claims: JsonObject
  /** Milliseconds since 1970 when it expires, leeway included. */
  readonly until: number
  /** Valid as long as these are the current keys of this source. */
  readonly keys: VerificationKeys
  readonly source: KeySource
  /** Size of the payload. */
  readonly size: number
}

export function providersByIssuer(providers: readonly Provider[]): Providers {
  return Map.groupBy(providers, ({ issuer }) => issuer)
}

/** `now` is in milliseconds since 1970. */
export function verifyToken(text: string, providers: Providers, now: number): Verified | Rejection {
  const jws = parseToken(text)
  if (isRejection(jws)) return jws
  const claims = readClaims(jws.payload)
  if (claims === undefined) return reject('malformed', 'the payload is not a JSON object')
  const { iss } = claims
  if (iss === undefined) return reject('missing-claim', 'iss is missing')
  if (typeof iss !== 'string') return reject('bad-claim', `iss is ${quote(iss)}`)
  let rejection: Rejection | undefined
  for (const provider of providers.get(iss) ?? []) {
    const outcome = verifyFor(provider, jws, claims, now)
    if (!isRejection(outcome)) return outcome
    // If several reject, the rejection of one that knows the key takes precedence.
    if (rejection === undefined || rejection.source !== undefined) rejection = outcome
  }
  if (rejection !== undefined) return rejection
  const known = [...providers.keys()].map(quote).join(', ')
  return reject('issuer-mismatch', `iss is ${quote(iss)}; trusted: ${known}`)
}

function verifyFor(
  provider: Provider,
  jws: CompactJws,
  claims: JsonObject,
  now: number,
): Verified | Rejection {
  const source = provider.keys
  const keys = source.current
  if (keys === undefined) {
    return reject(
      'keys-unavailable',
      `the keys of ${quote(provider.issuer)} have not been fetched yet`,
      source,
    )
  }
  const fault =
    checkType(jws, provider.types) ??
    verifySignature(jws, keys, source) ??
    checkClaims(claims, provider, now)
  if (fault !== undefined) return fault
  const until = (claims['exp'] as number) * 1000 + provider.leeway
  return { claims: freeze(claims), until, keys, source, size: jws.payload.length }
}

/** JWT, RFC 9068 and JWT-SVID. */
const ACCESS_TOKENS: readonly string[] = ['jwt', 'at+jwt', 'jose']

/**
 * RFC 8725 §3.11: a token for another use, such as a security event or a logout, is signed with the
 * same keys. An encrypted or compressed payload would be read in different ways.
 */
function checkType(
  { type, wrapped }: CompactJws,
  types: readonly string[] | undefined,
): Rejection | undefined {
  if (wrapped !== undefined) return reject('unsupported-header', `the header has ${wrapped}`)
  const accepted = types ?? ACCESS_TOKENS
  const isAccepted = type === undefined ? types === undefined : accepted.includes(type)
  if (isAccepted) return undefined
  return reject('unsupported-type', `typ is ${quote(type)}; accepted: ${accepted.join(', ')}`)
}

/** The key with that kid determines the valid algorithms; the token can only name one of them. */
export function verifySignature(
  { algorithm, kid, signed, signature }: CompactJws,
  { byKid }: VerificationKeys,
  source?: KeySource,
): Rejection | undefined {
  const named = byKid.get(kid)
  if (named === undefined) return reject('unknown-kid', `no key with kid ${quote(kid)}`, source)
  const key = named.find(({ algorithms }) => algorithms.includes(algorithm))
  if (key === undefined) {
    return reject('alg-mismatch', `alg ${algorithm.name} does not match key ${quote(kid)}`)
  }
  const isGenuine = verify(algorithm.digest, signed, inputOf(key, algorithm), signature)
  return isGenuine ? undefined : reject('bad-signature', `does not verify with key ${quote(kid)}`)
}

function inputOf({ key }: VerificationKey, { keyType, padding }: CompactJws['algorithm']) {
  if (keyType === 'OKP') return key
  // RFC 7518 §3.4: R and S are concatenated, not in DER.
  if (keyType === 'EC') return { key, dsaEncoding: 'ieee-p1363' as const }
  if (padding !== constants.RSA_PKCS1_PSS_PADDING) return key
  // §3.5: the salt is as long as the digest.
  return { key, padding, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }
}

/** Checks the claims of a token whose signature is valid. */
function checkClaims(
  claims: JsonObject,
  { audiences, requiredClaims, leeway }: Omit<Provider, 'keys'>,
  now: number,
): Rejection | undefined {
  if (claims['exp'] === undefined) return reject('missing-claim', 'exp is missing')
  const fault =
    checkUnbound(claims) ??
    checkDates(claims) ??
    checkTimes(claims, leeway, now) ??
    checkOrder(claims)
  if (fault !== undefined) return fault
  const missing = requiredClaims.find((name) => !Object.hasOwn(claims, name))
  if (missing !== undefined) return reject('missing-claim', `${missing} is missing`)
  return checkAudience(claims['aud'], audiences)
}

/** Why a token with these claims is never valid, at any time. */
export function malformedClaim(claims: JsonObject): Rejection | undefined {
  return (
    checkUnbound(claims) ??
    checkDates(claims) ??
    checkOrder(claims) ??
    checkAudience(claims['aud'], [])
  )
}

/**
 * RFC 7800: such a token is only valid with the proof that the sender has a key. The gateway cannot check a proof,
 * of DPoP (RFC 9449) or of a client certificate (RFC 8705), and a stolen token would come without.
 */
function checkUnbound(claims: JsonObject): Rejection | undefined {
  if (!Object.hasOwn(claims, 'cnf')) return undefined
  return reject('unsupported-cnf', 'the token is bound to a key, whose proof cannot be checked')
}

function checkDates({ exp, nbf, iat }: JsonObject): Rejection | undefined {
  for (const [name, date] of [
    ['exp', exp],
    ['nbf', nbf],
    ['iat', iat],
  ] as const) {
    if (date !== undefined && !isNumericDate(date)) {
      return reject('bad-claim', `${name} is ${quote(date)}, not a time in seconds`)
    }
  }
  return undefined
}

/** The dates of the claims must be numbers. */
export function checkTimes(
  { exp, nbf }: JsonObject,
  leeway: number,
  now: number,
): Rejection | undefined {
  const expired = exp === undefined ? -1 : now - ((exp as number) * 1000 + leeway)
  if (expired >= 0) return reject('expired', `${seconds(expired)} ago`)
  const early = ((nbf as number | undefined) ?? 0) * 1000 - leeway - now
  return early > 0 ? reject('not-yet-valid', `valid in ${seconds(early)}`) : undefined
}

/**
 * iat may be in the future, since clocks differ; but a token must not expire before it was issued.
 */
function checkOrder({ exp, iat }: JsonObject): Rejection | undefined {
  if (iat === undefined || exp === undefined || (iat as number) <= (exp as number)) return undefined
  return reject('bad-claim', 'iat is after exp')
}

/** RFC 7519 §2: seconds since 1970, optionally with a fraction. Never a string or Infinity. */
function isNumericDate(value: Value): value is number {
  return typeof value === 'number' && value >= 0 && value <= LAST_DATE
}

/** RFC 7519 §4.1.3: one string, or a list of strings. */
function checkAudience(
  aud: Value | undefined,
  audiences: readonly string[],
): Rejection | undefined {
  const list = typeof aud === 'string' ? [aud] : aud === undefined ? [] : aud
  if (!Array.isArray(list) || !list.every((one) => typeof one === 'string')) {
    return reject('bad-claim', `aud is ${quote(aud)}`)
  }
  if (audiences.length === 0 || list.some((one) => audiences.includes(one))) return undefined
  const trusted = audiences.map(quote).join(', ')
  return reject('audience-mismatch', `aud is ${quote(aud)}; trusted: ${trusted}`)
}

function seconds(milliseconds: number): string {
  return `${Math.ceil(milliseconds / 1000)} s`
}
