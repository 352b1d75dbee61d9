import { openApiKey } from './api-key/authenticator.ts'
import { authenticationBy } from './authentication/index.ts'
import { openBasic } from './basic-auth/authenticator.ts'
import { COMPILERS } from './compilers.ts'
import { conditionally } from './conditional-policy.ts'
import type { Policy } from './define.ts'
import { openJwt } from './jwt-authentication/authenticator.ts'
import { POLICY_SCHEMAS, policySchema } from './schema.ts'

/** Any of several authentication methods. */
const authentication = authenticationBy(
  { jwtAuthentication: openJwt, apiKey: openApiKey, basicAuth: openBasic },
  policySchema('authentication'),
)

const BY_KIND: Readonly<Record<string, Policy>> = { ...COMPILERS, authentication }

/**
 * The policies that run for a request, in schema order; other parts read the remaining kinds
 * directly.
 */
export const POLICIES: readonly Policy[] = POLICY_SCHEMAS.flatMap(({ kind }) => {
  const policy = BY_KIND[kind]
  return policy === undefined ? [] : [conditionally(policy)]
})
