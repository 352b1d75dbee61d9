import type { JsonObject, Value } from '../../cel/values/value.ts'
import { canonicalJson } from '../../model/json.ts'
import { type ApiKey, keyIdentity, validUntil } from '../../policies/api-key/schema.ts'
import type { Authentication } from '../../policies/authentication/schema.ts'
import type { JwtAuthentication } from '../../policies/jwt-authentication/schema.ts'
import { credentialsOf, issuersOf, verifierOf } from '../scopes.ts'
import type { Space } from '../symbolic/space.ts'
import { authenticationsBeyond, authenticationsOf, type Entry } from './entries.ts'
import type { ExampleRequest } from './example.ts'

/** Replaces the credentials of an example. */
export type Disguise = (request: ExampleRequest) => ExampleRequest

/**
 * Credentials that an authentication of `denying` may reject although `admitting` accepts them:
 * none at all, bad ones, tokens of another issuer. Valid ones of the same issuer cannot be made up.
 */
export function disguises(denying: Entry, admitting: Entry): readonly Disguise[] {
  const found: Disguise[] = [(request) => ({ ...request, identity: {} })]
  for (const policy of authenticationsBeyond(denying, admitting)) {
    const { location } = policy.value as Partial<JwtAuthentication>
    if (location?.kind === 'header') {
      const { name, prefix } = location
      found.push((request) => ({
        ...request,
        identity: {},
        headers: { ...request.headers, [name]: `${prefix}${BAD_CREDENTIAL}` },
      }))
    }
    const known = new Set(issuersOf(policy))
    if (known.size === 0) continue
    const others = authenticationsOf(admitting).flatMap(issuersOf)
    for (const iss of new Set(others.filter((issuer) => !known.has(issuer)))) {
      found.push(({ identity, ...request }) => ({
        ...request,
        identity: { ...identity, jwt: { ...identity['jwt'], iss } },
      }))
    }
  }
  return found
}

/**
 * Whether one credential of each kind is enough for the way. If two authentications read one kind
 * from two places, or accept different credentials, an example would have to say which belongs
 * where.
 */
export function takesOneOfEach(entry: Entry): boolean {
  const kinds = Map.groupBy(authenticationsOf(entry), ({ kind }) => kind)
  return [...kinds.values()].every((own) => new Set(own.map(placeOf)).size === 1)
}

function placeOf(policy: ReturnType<typeof authenticationsOf>[number]): string {
  if (policy.kind !== 'jwtAuthentication') return credentialsOf(policy)
  // A token is identified by its issuer.
  return canonicalJson((policy.value as JwtAuthentication).location)
}

/**
 * The example with a key that both ways know, and all of its metadata. Metadata belong to a
 * configured key, so they cannot be made up. Undefined if there is no such key.
 */
export function withKnownKey(
  request: ExampleRequest,
  ways: readonly Entry[],
): ExampleRequest | undefined {
  const { apiKey: wanted } = request.identity
  if (wanted === undefined) return request
  const [first, ...others] = ways.flatMap(keysOn)
  const textOf = (key: Key) => canonicalJson([key.keyHash, keyIdentity(key)])
  // An expired key is as good as an unknown one.
  const isValid = (key: Key) => validUntil(key) > Date.now()
  const found = first?.find((key) => {
    const known = keyIdentity(key) as JsonObject
    const isMeant = Object.entries(wanted).every(
      ([name, value]) => canonicalJson(known[name]) === canonicalJson(value),
    )
    const isSame = (one: Key) => isValid(one) && textOf(one) === textOf(key)
    return isMeant && isValid(key) && others.every((list) => list.some(isSame))
  })
  if (found === undefined) return undefined
  const { key, ...identity } = keyIdentity(found) as JsonObject
  // The key is named only if a rule reads it.
  const isNamed = 'key' in wanted || 'key' in found.metadata
  const apiKey = isNamed ? { key: key as Value, ...identity } : identity
  return { ...request, identity: { ...request.identity, apiKey } }
}

type Key = ApiKey['keys'][number]

/** The configured keys of each API key authentication on the way. */
function keysOn(entry: Entry): readonly (readonly Key[])[] {
  return authenticationsOf(entry).flatMap(({ kind, value }) => {
    if (kind === 'apiKey') return [(value as ApiKey).keys]
    if (kind !== 'authentication') return []
    const { anyOf } = value as Authentication
    return anyOf.filter((one) => one.kind === 'apiKey').map((one) => (one.value as ApiKey).keys)
  })
}

/** Examples need the metadata of keys that exist. */
export function hintKeys(space: Space, entry: Entry): void {
  for (const policy of authenticationsOf(entry)) {
    if (policy.kind !== 'apiKey') continue
    const members = (policy.value as ApiKey).keys.flatMap(({ metadata }) =>
      Object.entries(metadata),
    )
    for (const [name, values] of Map.groupBy(members, ([member]) => member)) {
      const texts = values.flatMap(([, value]) => (typeof value === 'string' ? [value] : []))
      space.hintMember(`apiKey#${verifierOf(policy)}`, name, texts.slice(0, MAX_HINTS))
    }
  }
}

const MAX_HINTS = 16

/** Not a valid key, token or password. */
export const BAD_CREDENTIAL = 'invalid'
