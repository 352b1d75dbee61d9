import { openApiKey } from './api-key/authenticator.ts'
import { authenticationBy } from './authentication/index.ts'
import { openBasic } from './basic-auth/authenticator.ts'
import { COMPILERS } from './compilers.ts'
import { conditionally } from './conditional-policy.ts'
import type { Policy } from './define.ts'
import { openJwt } from './jwt-authentication/authenticator.ts'
import { POLICY_SCHEMAS, policySchema } from './schema.ts'

/** Any of several ways to sign in. */
const authentication = authenticationBy(
  { jwtAuthentication: openJwt, apiKey: openApiKey, basicAuth: openBasic },
  policySchema('authentication'),
)

const BY_KIND: Readonly<Record<string, Policy>> = { ...COMPILERS, authentication }

/** What runs for a request, in the order of the records: the others are read by whoever they concern. */
export const POLICIES: readonly Policy[] = POLICY_SCHEMAS.flatMap(({ kind }) => {
  const policy = BY_KIND[kind]
  return policy === undefined ? [] : [conditionally(policy)]
})
