import type { Attached } from '../model/policy.ts'
import type { Authentication } from '../policies/authentication/schema.ts'
import type { JwtAuthentication } from '../policies/jwt-authentication/schema.ts'

/** Issuers whose tokens the policy accepts, alone or as one of several credentials. */
export function jwtProvidersOf(policy: Attached): JwtAuthentication['providers'] {
  if (policy.state !== 'valid') return []
  if (policy.kind === 'jwtAuthentication') return (policy.value as JwtAuthentication).providers
  if (policy.kind !== 'authentication') return []
  return (policy.value as Authentication).anyOf.flatMap(({ kind, value }) =>
    kind === 'jwtAuthentication' ? (value as JwtAuthentication).providers : [],
  )
}
