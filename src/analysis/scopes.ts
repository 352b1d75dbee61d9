import { hashOf } from '../model/hash.ts'
import type { Attached, ValidPolicy } from '../model/policy.ts'
import { type JwtAuthentication, LAST_DATE } from '../policies/jwt-authentication/schema.ts'
import { IDENTIFYING, IDENTITY_VARIABLES, recordOf } from '../reach/kinds.ts'
import type { Point } from '../reach/points.ts'
import type { Fact } from './symbolic/attribute-tree.ts'

/** What the policies around a point see of the client identity. */
export interface Scoping {
  /** The authentications around it, those of the gateway first. */
  readonly authentications: readonly ValidPolicy[]
  /** For each identity variable, the name of what a policy sees of it. */
  namesFor(policy: ValidPolicy, depth: number): ReadonlyMap<string, string>
  /** The same for a policy inside all of them that has no authentication of its own. */
  namesWithin(): ReadonlyMap<string, string>
  /** What is known about the variables named so far. */
  facts(): ReadonlyMap<string, Fact>
  /** Names of the variables that are set for every request that passes these authentications. */
  readonly required: readonly string[]
}

/** Names for what policies see of the client identity, by the sources that `reach` determines. */
export function scopesAt({ sources }: Pick<Point, 'sources'>): Scoping {
  const all = sources.all.filter(isValid)
  const named = new Map<string, readonly ValidPolicy[]>()
  const namesFor = (policy: string, depth: number) =>
    new Map<string, string>(
      IDENTITY_VARIABLES.map((variable) => {
        // An invalid authentication admits no request and sets no variable.
        const around = sources.seenBy(policy, depth, variable)
        const seen = around.filter(isValid)
        // What an invalid one would find is unknown. It denies requests, and is reported itself.
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
 * Authentications that accept the same credentials set the same values, wherever they are attached
 * and in any configuration, so their variables have the same name.
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
 * A hash of the credentials that it accepts and where it reads them, regardless of whether they are
 * required. A service that is called may return anything.
 */
export function credentialsOf(policy: ValidPolicy): string {
  return hashOf([policy.kind, withoutMode(policy)])
}

function withoutMode({ value }: ValidPolicy): unknown {
  const { mode: _, ...rest } = value as { readonly mode?: string }
  return rest
}

/** Whether a single variable shows if credentials were found. */
export function isSingle({ kind }: ValidPolicy): boolean {
  return IDENTIFYING.get(kind)?.length === 1 && recordOf(kind)?.callsService !== true
}

/** It treats bad credentials like absent ones, and admits requests without credentials. */
export function isPermissive(policy: ValidPolicy): boolean {
  const { mode } = policy.value as { readonly mode?: string }
  return isSingle(policy) && mode === 'Permissive'
}

/** The same, with how it treats bad credentials; and absent ones, if no variable shows them. */
export function acceptanceOf(policy: ValidPolicy): string {
  const { mode } = policy.value as { readonly mode?: string }
  return `${credentialsOf(policy)} ${isSingle(policy) ? mode === 'Permissive' : mode}`
}

const VERIFIERS = new WeakMap<ValidPolicy, string>()

/**
 * The issuers and audiences of its tokens, and where it reads them. The keys that verify tokens do
 * not change what they contain. Only if bad tokens pass, one policy can find a token that another
 * does not.
 */
function trusted(policy: ValidPolicy) {
  const { value } = policy as ValidPolicy<JwtAuthentication>
  const { providers, location, mode } = value
  const issuers = providers.map(({ issuer, audiences }) => ({ issuer, audiences }))
  return [issuers, location, mode === 'Permissive' ? withoutMode(policy) : undefined]
}

function* factsAbout(name: string, seen: readonly ValidPolicy[]): Generator<[string, Fact]> {
  if (seen.length === 0) yield [name, { kind: 'unset' }]
  // Requests without valid credentials do not reach the rules.
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

/** Time claims, which are numbers or the token is bad, each with a value that is good for years. */
const DATES: ReadonlyMap<string, number> = new Map([
  ['exp', 4_000_000_000],
  ['nbf', 1_700_000_000],
  ['iat', 1_700_000_000],
])

/**
 * Nothing is required of an authentication that can be passed without credentials, or of a service
 * that is called about requests. A client that signs in has a session.
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
 * Whether every token that passes `one` is also valid for `other`, and a bad one passes neither:
 * both read the same place, and `other` has all providers of `one`.
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

/** For two policies that read tokens from the same place, whether they have no issuer in common. */
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
