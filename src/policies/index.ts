import { a2a } from './a2a/index.ts'
import { ai } from './ai/index.ts'
import { openApiKey } from './api-key/authenticator.ts'
import { apiKey } from './api-key/index.ts'
import { authenticationBy } from './authentication/index.ts'
import { authorization } from './authorization/index.ts'
import { backendAuth } from './backend-auth/index.ts'
import { openBasic } from './basic-auth/authenticator.ts'
import { basicAuth } from './basic-auth/index.ts'
import { budgets } from './budgets/index.ts'
import { buffer } from './buffer/index.ts'
import { compression } from './compression/index.ts'
import { conditionally } from './conditional-policy.ts'
import { cors } from './cors/index.ts'
import { csrf } from './csrf/index.ts'
import type { Policy } from './define.ts'
import { delay } from './delay/index.ts'
import { directResponse } from './direct-response/index.ts'
import { extAuthz } from './ext-authz/index.ts'
import { extProc } from './ext-proc/index.ts'
import { guardrails } from './guardrails/index.ts'
import { inferenceRouting } from './inference-routing/index.ts'
import { openJwt } from './jwt-authentication/authenticator.ts'
import { jwtAuthentication } from './jwt-authentication/index.ts'
import { localRateLimit } from './local-rate-limit/index.ts'
import { oidc } from './oidc/index.ts'
import { remoteRateLimit } from './remote-rate-limit/index.ts'
import { requestHeaders } from './request-headers/index.ts'
import { requestMirror } from './request-mirror/index.ts'
import { requestRedirect } from './request-redirect/index.ts'
import { responseHeaders } from './response-headers/index.ts'
import { retry } from './retry/index.ts'
import { policySchema } from './schema.ts'
import { timeout } from './timeout/index.ts'
import { transformations } from './transformations/index.ts'
import { urlRewrite } from './url-rewrite/index.ts'

/** Any of several ways to sign in. */
const authentication = authenticationBy(
  { jwtAuthentication: openJwt, apiKey: openApiKey, basicAuth: openBasic },
  policySchema('authentication'),
)

/**
 * What runs for a request, in this order. Those that change answers come first, so that they also
 * reach the responses of the gateway itself; a preflight has no credentials and so is answered
 * before anybody asks for some; nothing is counted or sent on for a request that is denied.
 * Responses meet them in the reverse order, so that what is compressed is what all others made.
 */
export const POLICIES: readonly Policy[] = [
  compression,
  responseHeaders,
  timeout,
  cors,
  csrf,
  jwtAuthentication,
  basicAuth,
  apiKey,
  authentication,
  oidc,
  conditionally(extAuthz, 'unless-false'),
  authorization,
  conditionally(localRateLimit, 'unless-false'),
  conditionally(remoteRateLimit, 'unless-false'),
  budgets,
  extProc,
  backendAuth,
  transformations,
  buffer,
  requestHeaders,
  urlRewrite,
  requestRedirect,
  conditionally(directResponse, 'if-true'),
  delay,
  requestMirror,
  retry,
  a2a,
  inferenceRouting,
  ai,
  guardrails,
]
