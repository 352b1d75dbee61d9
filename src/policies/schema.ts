import type * as z from 'zod'
import type { Stage } from '../cel/index.ts'
import type { IdentityVariable } from '../exchange/identity.ts'
import type { Level, Section } from '../model/policy.ts'
import { accessLog } from './access-log/schema.ts'
import { apiKey } from './api-key/schema.ts'
import { authenticationOf } from './authentication/schema.ts'
import { authorization } from './authorization/schema.ts'
import { backendAuth } from './backend-auth/schema.ts'
import { backendTLS } from './backend-tls/schema.ts'
import { basicAuth } from './basic-auth/schema.ts'
import { buffer } from './buffer/schema.ts'
import { compression } from './compression/schema.ts'
import { connect } from './connect/schema.ts'
import { connectionLimits } from './connection-limits/schema.ts'
import { cors } from './cors/schema.ts'
import { csrf } from './csrf/schema.ts'
import { directResponse, plainDirectResponse } from './direct-response/schema.ts'
import { extAuthz, plainExtAuthz } from './ext-authz/schema.ts'
import { frontendHttp } from './frontend-http/schema.ts'
import { frontendTcp } from './frontend-tcp/schema.ts'
import { frontendTls } from './frontend-tls/schema.ts'
import { healthCheck } from './health-check/schema.ts'
import { http } from './http/schema.ts'
import { jwtAuthentication } from './jwt-authentication/schema.ts'
import { loadBalancer } from './load-balancer/schema.ts'
import { localRateLimit, plainRateLimit } from './local-rate-limit/schema.ts'
import { mcpAuthorization } from './mcp-authorization/schema.ts'
import { networkAuthorization } from './network-authorization/schema.ts'
import { outlierDetection } from './outlier-detection/schema.ts'
import { proxyProtocol } from './proxy-protocol/schema.ts'
import { requestHeaders } from './request-headers/schema.ts'
import { requestMirror } from './request-mirror/schema.ts'
import { requestRedirect } from './request-redirect/schema.ts'
import { responseHeaders } from './response-headers/schema.ts'
import { retry } from './retry/schema.ts'
import { tcp } from './tcp/schema.ts'
import { timeout } from './timeout/schema.ts'
import { tracing } from './tracing/schema.ts'
import { transformations } from './transformations/schema.ts'
import { urlRewrite } from './url-rewrite/schema.ts'

/** What is known of a kind of policy before anything of it runs. */
export interface PolicySchema {
  readonly kind: string
  /** The key in a file, where it is not the kind itself. */
  readonly key: string
  /** Other spellings of the key; `a.b` is the key `b` in a mapping `a`. */
  readonly aliases: readonly string[]
  /** The sections that it may stand in, and the levels that it may be attached at there. */
  readonly sections: Sections
  readonly schema: z.ZodType
  /** Those of all policies hold together; of the others, the first at a level holds. */
  readonly composes: boolean
  /** The variables by which it says who asks. */
  readonly identifies: readonly IdentityVariable[]
  /** Without `conditional`, for a kind that may be conditional. */
  readonly plain?: z.ZodType
  /** The stage of its expressions, where it is not that of the section. */
  readonly stage?: Stage
}

type Sections = Readonly<Partial<Record<Section, readonly Level[]>>>

const FRONTEND: Sections = { frontend: ['frontend', 'gateway'] }
const TRAFFIC: Sections = { traffic: ['gateway', 'listener', 'route'] }
const BACKEND: Sections = { backend: ['gateway', 'listener', 'route', 'backend', 'provider'] }
const BOTH: Sections = { ...TRAFFIC, ...BACKEND }

/** One of several credentials is enough. */
const anyOf = authenticationOf({ jwtAuthentication, apiKey, basicAuth })

/** All kinds, in the order in which they run. */
export const POLICY_SCHEMAS: readonly PolicySchema[] = [
  define('proxyProtocol', FRONTEND, proxyProtocol, { aliases: ['proxy'] }),
  define('frontendTcp', FRONTEND, frontendTcp, { key: 'tcp' }),
  define('frontendTls', FRONTEND, frontendTls, { key: 'tls' }),
  define('networkAuthorization', FRONTEND, networkAuthorization, { composes: true }),
  define('frontendHttp', FRONTEND, frontendHttp, { key: 'http' }),
  define('connect', FRONTEND, connect),
  define('accessLog', FRONTEND, accessLog, { aliases: ['logging'] }),
  define('tracing', FRONTEND, tracing),

  define('compression', TRAFFIC, compression),
  define('timeout', TRAFFIC, timeout, { aliases: ['timeouts'] }),
  define('cors', TRAFFIC, cors),
  define('csrf', TRAFFIC, csrf),
  authentication('jwtAuthentication', TRAFFIC, jwtAuthentication, ['jwtAuth'], ['jwt']),
  authentication('basicAuth', TRAFFIC, basicAuth, ['basicAuthentication'], ['basicAuth']),
  authentication('apiKey', TRAFFIC, apiKey, ['apiKeyAuthentication'], ['apiKey']),
  authentication('authentication', TRAFFIC, anyOf, [], ['jwt', 'apiKey', 'basicAuth']),
  {
    ...authentication('extAuthz', BOTH, extAuthz, ['extAuth'], ['extauthz']),
    plain: plainExtAuthz,
  },
  define('authorization', BOTH, authorization, { composes: true }),
  define('localRateLimit', TRAFFIC, localRateLimit, { plain: plainRateLimit }),
  define('backendAuth', BACKEND, backendAuth, { aliases: ['auth'] }),
  define('transformations', BOTH, transformations, { aliases: ['transformation'] }),
  define('buffer', TRAFFIC, buffer),
  define('requestHeaders', BOTH, requestHeaders, { aliases: ['requestHeaderModifier'] }),
  define('urlRewrite', TRAFFIC, urlRewrite),
  define('requestRedirect', TRAFFIC, requestRedirect),
  define('directResponse', TRAFFIC, directResponse, { plain: plainDirectResponse }),
  define('requestMirror', TRAFFIC, requestMirror),
  define('retry', TRAFFIC, retry),

  define('mcpAuthorization', BACKEND, mcpAuthorization, {
    aliases: ['mcp.authorization'],
    stage: 'mcp',
    composes: true,
  }),
  define('loadBalancer', BACKEND, loadBalancer),
  define('healthCheck', BACKEND, healthCheck),
  define('outlierDetection', BACKEND, outlierDetection, { aliases: ['health'] }),
  define('connectionLimits', BACKEND, connectionLimits),
  define('tcp', BACKEND, tcp),
  define('backendTLS', BACKEND, backendTLS),
  define('http', BACKEND, http),
  define('responseHeaders', BOTH, responseHeaders, { aliases: ['responseHeaderModifier'] }),
]

function define(
  kind: string,
  sections: Sections,
  schema: z.ZodType,
  rest: Partial<Omit<PolicySchema, 'kind' | 'sections' | 'schema'>> = {},
): PolicySchema {
  // The id makes one definition of it in JSON Schema, however often it is used.
  const known = schema.meta({ ...schema.meta(), id: kind })
  const usual = { aliases: [], composes: false, identifies: [] }
  return { kind, key: kind, sections, schema: known, ...usual, ...rest }
}

/** All of them that reach a request run, whatever level they are attached at. */
function authentication(
  kind: string,
  sections: Sections,
  schema: z.ZodType,
  aliases: readonly string[],
  identifies: readonly IdentityVariable[],
): PolicySchema {
  return define(kind, sections, schema, { aliases, identifies, composes: true })
}

export function policySchema(kind: string): z.ZodType {
  const found = POLICY_SCHEMAS.find((policy) => policy.kind === kind)
  if (found === undefined) throw new Error(`no policy is called ${kind}`)
  return found.schema
}

/** The form of a policy without `conditional`. */
export function plainSchema(kind: string): z.ZodType {
  return POLICY_SCHEMAS.find((policy) => policy.kind === kind)?.plain ?? policySchema(kind)
}

export type { Stage } from '../cel/index.ts'
export { type Found, findAnnotated } from './annotations.ts'
export type { Authorization, AuthorizationRule } from './authorization-rules.ts'
export { appliesAlways } from './conditional.ts'
export { withoutEffectOnDynamic } from './dynamic-policies.ts'
export { checkExpression, STAGE_OF_SECTION } from './expressions.ts'
export { keepalives } from './keepalives.ts'
export { file, fileOrSecret, fileOrText, fillMaterials, secret, textOrFile } from './materials.ts'
export { ANSWERS, overshadowed } from './overshadowed.ts'
export { withoutEffectOnProviders, withoutMcp } from './part-policies.ts'
export * from './scalars.ts'
export { aliased, constraintOf, type IssueParams, issue, oneOfKeys } from './shapes.ts'
export { unenforcedOnStreams } from './stream-policies.ts'
export { backendName, type HostTarget, host, parseHost, service } from './target.ts'
export { requestPath } from './written-path.ts'
