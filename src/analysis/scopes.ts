import { hashOf } from '../model/hash.ts'
import type { Attached, ValidPolicy } from '../model/policy.ts'
import { type JwtAuthentication, LAST_DATE } from '../policies/jwt-authentication/schema.ts'
import { IDENTIFYING, IDENTITY_VARIABLES, recordOf } from '../reach/kinds.ts'
import type { Point } from '../reach/points.ts'
import type { Fact } from './symbolic/attribute-tree.ts'

/** What the policies around a point see of who asks. */
export interface Scoping {
  /** The authentications around it, the gateway's first. */
  readonly authentications: readonly ValidPolicy[]
  /** For each variable that says who asks, the name of what a policy sees of it. */
  namesFor(policy: ValidPolicy, depth: number): ReadonlyMap<string, string>
  /** The same for a policy within all of them that has no authentication of its own. */
  namesWithin(): ReadonlyMap<string, string>
  /** What is known of the variables that were named so far. */
  facts(): ReadonlyMap<string, Fact>
  /** Names of the variables that are set for whoever passes these authentications. */
  readonly required: readonly string[]
}

/** Names for what policies see of who asks: as `reach` says whose word they take. */
export function scopesAt({ sources }: Pick<Point, 'sources'>): Scoping {
  const all = sources.all.filter(isValid)
  const named = new Map<string, readonly ValidPolicy[]>()
  const namesFor = (policy: string, depth: number) =>
    new Map<string, string>(
      IDENTITY_VARIABLES.map((variable) => {
        // What is invalid lets nobody pass, and says nothing of anybody.
        const around = sources.seenBy(policy, depth, variable)
        const seen = around.filter(isValid)
        // What an invalid one would find out is not known; it denies, and is reported itself.
        if (seen.length === 0 && around.length > 0) return [variable, `${variable}#invalid`]
        const name = `${variable}#${seen.map(verifierOf).join('+') || 'none'}`
        named.set(name, seen)
        return [variable, name]
      }),
    )
  return {
    authentications: all,
    namesFor: ({ policy }, depth) => namesFor(policy, depth),
    namesWithin: () => namesFor('', Number.POSITIVE_INFINITY),
    required: all.flatMap((policy) => requiredBy(policy)),
    facts: () => new Map([...named].flatMap(([name, seen]) => [...factsAbout(name, seen)])),
  }
}

function isValid(policy: Attached): policy is ValidPolicy {
  return policy.state === 'valid'
}

/**
 * Authentications that take the same credentials find out the same, wherever they are attached and
 * in whichever configuration: their variables have one name.
 */
export function verifierOf(policy: ValidPolicy): string {
  const known = VERIFIERS.get(policy)
  if (known !== undefined) return known
  const found = isJwt(policy)
    ? trusted(policy)
    : isSingle(policy)
      ? withoutMode(policy)
      : policy.value
  const made = hashOf([policy.kind, found]).slice(0, 12)
  VERIFIERS.set(policy, made)
  return made
}

/**
 * Which credentials it takes and where it looks for them, in one word; whether it must find some
 * is another matter. A service that is asked may say anything.
 */
export function credentialsOf(policy: ValidPolicy): string {
  return hashOf([policy.kind, withoutMode(policy)])
}

function withoutMode({ value }: ValidPolicy): unknown {
  const { mode: _, ...rest } = value as { readonly mode?: string }
  return rest
}

/** Whether one variable tells whether it found anything. */
export function isSingle({ kind }: ValidPolicy): boolean {
  return IDENTIFYING.get(kind)?.length === 1 && recordOf(kind)?.asksService !== true
}

/** Bad credentials are as good as none for it, and none are good enough. */
export function isPermissive(policy: ValidPolicy): boolean {
  const { mode } = policy.value as { readonly mode?: string }
  return isSingle(policy) && mode === 'Permissive'
}

/** The same, with what becomes of bad ones; and of none, where no variable tells. */
export function acceptanceOf(policy: ValidPolicy): string {
  const { mode } = policy.value as { readonly mode?: string }
  return `${credentialsOf(policy)} ${isSingle(policy) ? mode === 'Permissive' : mode}`
}

const VERIFIERS = new WeakMap<ValidPolicy, string>()

/**
 * Whose tokens, for whom, and where they are looked for: with which keys they are checked changes
 * nothing of what they say. Only where bad ones pass can one find a token that another does not.
 */
function trusted(policy: ValidPolicy) {
  const { value } = policy as ValidPolicy<JwtAuthentication>
  const { providers, location, mode } = value
  const issuers = providers.map(({ issuer, audiences }) => ({ issuer, audiences }))
  return [issuers, location, mode === 'Permissive' ? withoutMode(policy) : undefined]
}

function* factsAbout(name: string, seen: readonly ValidPolicy[]): Generator<[string, Fact]> {
  if (seen.length === 0) yield [name, { kind: 'unset' }]
  // Whoever has no valid credentials does not come as far as the rules.
  if (seen.some((policy) => requiredBy(policy).length > 0)) yield [name, { kind: 'set' }]
  if (!seen.every(isJwt) || seen.length === 0) return
  const policies = seen as readonly ValidPolicy<JwtAuthentication>[]
  const providers = policies.flatMap(({ value }) => value.providers)
  const values = [...new Set(providers.map(({ issuer }) => issuer))]
  yield [`${name}.iss`, { kind: 'values', values, isSet: true }]
  const required = providers.map(({ requiredClaims, audiences }) => [
    'exp',
    ...requiredClaims,
    ...(audiences.length > 0 ? ['aud'] : []),
  ])
  const isRequired = (claim: string) => required.every((claims) => claims.includes(claim))
  for (const claim of new Set(required.flat())) {
    if (claim === 'iss' || DATES.has(claim) || !/^[A-Za-z_]\w*$/.test(claim)) continue
    if (isRequired(claim)) yield [`${name}.${claim}`, { kind: 'set' }]
  }
  for (const [claim, liked] of DATES) {
    const range = { min: 0, max: LAST_DATE, liked }
    yield [`${name}.${claim}`, { kind: 'number', range, isSet: isRequired(claim) }]
  }
}

/** Times in tokens, which are numbers or the token is bad; and one that is good for years. */
const DATES: ReadonlyMap<string, number> = new Map([
  ['exp', 4_000_000_000],
  ['nbf', 1_700_000_000],
  ['iat', 1_700_000_000],
])

/**
 * Of an authentication that can be passed without credentials nothing is required, nor of a service
 * that is asked about requests; who signs in has a session.
 */
function requiredBy(policy: ValidPolicy): readonly string[] {
  const { mode = 'Strict' } = policy.value as { readonly mode?: string }
  const [only] = IDENTIFYING.get(policy.kind) ?? []
  const isKnown = isSingle(policy) || policy.kind === 'oidc'
  if (only === undefined || !isKnown || mode !== 'Strict') return []
  return [`${only}#${verifierOf(policy)}`]
}

function isJwt({ kind }: ValidPolicy): boolean {
  return kind === 'jwtAuthentication'
}

/**
 * Whether every token that passes `one` is valid for `other` too, and a bad one passes neither:
 * they look in the same place, and the other has all providers of the one.
 */
export function isWithin(one: ValidPolicy, other: ValidPolicy): boolean {
  if (!isJwt(one) || !isJwt(other) || isPermissive(one) || isPermissive(other)) return false
  const [{ providers: own, ...rest }, { providers: all, ...others }] = [one, other].map(
    (policy) => withoutMode(policy) as JwtAuthentication,
  ) as [JwtAuthentication, JwtAuthentication]
  const known = new Set(all.map((provider) => hashOf(provider)))
  const isAlone = new Set(all.map(({ issuer }) => issuer)).size === all.length
  return isAlone && hashOf(rest) === hashOf(others) && own.every((one) => known.has(hashOf(one)))
}

/** Of two that look for a token in the same place, whether no issuer is known to both. */
export function isApart(one: ValidPolicy, other: ValidPolicy): boolean {
  const issuers = new Set(issuersOf(one))
  return issuersOf(other).every((issuer) => !issuers.has(issuer))
}

export function isSamePlace(one: ValidPolicy, other: ValidPolicy): boolean {
  const of = ({ value }: ValidPolicy) => hashOf((value as JwtAuthentication).location)
  return isJwt(one) && isJwt(other) && of(one) === of(other)
}

export function issuersOf(policy: ValidPolicy): readonly string[] {
  if (!isJwt(policy)) return []
  return (policy.value as JwtAuthentication).providers.map(({ issuer }) => issuer)
}
