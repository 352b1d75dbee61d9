import type { JwtAuthentication } from '../../policies/jwt-authentication/schema.ts'
import { issuersOf } from '../scopes.ts'
import { authenticationsBeyond, authenticationsOf, type Entry } from './entries.ts'
import type { ExampleRequest } from './example.ts'

/** An example with other credentials. */
export type Disguise = (request: ExampleRequest) => ExampleRequest

/**
 * Credentials by which an authentication of `refusing` may refuse what the other one admits: none
 * at all, bad ones, tokens of another issuer. Valid ones of the same issuer cannot be made up.
 */
export function disguises(refusing: Entry, admitting: Entry): readonly Disguise[] {
  const found: Disguise[] = [(request) => ({ ...request, identity: {} })]
  for (const policy of authenticationsBeyond(refusing, admitting)) {
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

/** No key, no token and no password. */
export const BAD_CREDENTIAL = 'invalid'
