import type * as z from 'zod'
import type { Stage } from '../cel/index.ts'
import type { IdentityVariable } from '../exchange/identity.ts'
import type { Backend } from '../model/backend.ts'
import type { Level, Section } from '../model/policy.ts'
import { a2a } from './a2a/schema.ts'
import { accessLog } from './access-log/schema.ts'
import { ai } from './ai/schema.ts'
import { apiKey } from './api-key/schema.ts'
import { authenticationOf } from './authentication/schema.ts'
import { authorization } from './authorization/schema.ts'
import { backendAuth, backendsOfCredential } from './backend-auth/schema.ts'
import { backendTLS } from './backend-tls/schema.ts'
import { basicAuth } from './basic-auth/schema.ts'
import { budgets } from './budgets/schema.ts'
import { buffer } from './buffer/schema.ts'
import { compression } from './compression/schema.ts'
import { connect } from './connect/schema.ts'
import { connectionLimits } from './connection-limits/schema.ts'
import { cors } from './cors/schema.ts'
import { csrf } from './csrf/schema.ts'
import { delay } from './delay/schema.ts'
import { directResponse, plainDirectResponse } from './direct-response/schema.ts'
import { bodyShown, extAuthz, plainExtAuthz } from './ext-authz/schema.ts'
import { bodyProcessed, extProc, plainExtProc } from './ext-proc/schema.ts'
import { frontendHttp } from './frontend-http/schema.ts'
import { frontendTcp } from './frontend-tcp/schema.ts'
import { frontendTls } from './frontend-tls/schema.ts'
import { guardrails } from './guardrails/schema.ts'
import { healthCheck } from './health-check/schema.ts'
import { http } from './http/schema.ts'
import { inferenceRouting } from './inference-routing/schema.ts'
import { jwtAuthentication, pathsOfBody } from './jwt-authentication/schema.ts'
import { loadBalancer } from './load-balancer/schema.ts'
import { localRateLimit, plainRateLimit } from './local-rate-limit/schema.ts'
import { mcpAuthorization } from './mcp-authorization/schema.ts'
import { networkAuthorization } from './network-authorization/schema.ts'
import { type Oidc, oidc, pathOfBody } from './oidc/schema.ts'
import { outlierDetection } from './outlier-detection/schema.ts'
import { proxyProtocol } from './proxy-protocol/schema.ts'
import { type QuickPolicy, readQuickRules } from './quick-rules.ts'
import { plainRemoteRateLimit, remoteRateLimit } from './remote-rate-limit/schema.ts'
import { requestHeaders } from './request-headers/schema.ts'
import { requestMirror } from './request-mirror/schema.ts'
import { requestRedirect } from './request-redirect/schema.ts'
import { responseHeaders } from './response-headers/schema.ts'
import { retry } from './retry/schema.ts'
import { tcp } from './tcp/schema.ts'
import { neverReached, timeout } from './timeout/schema.ts'
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
  /** What the schema would say of values that are written most often; undefined of all others. */
  readonly quick?: (value: unknown) => QuickPolicy | undefined
  /** Those of all policies hold together; of the others, the first at a level holds. */
  readonly composes: boolean
  /** The variables by which it says who asks. */
  readonly identifies: readonly IdentityVariable[]
  /** Without `conditional`, for a kind that may be conditional. */
  readonly plain?: z.ZodType
  /** The stage of its expressions, where it is not that of the section. */
  readonly stage?: Stage
  /** Its value is Allow, Deny and Require rules, which decide at its stage. */
  readonly hasRules: boolean
  /**
   * What it responds to by itself, so that nothing of it goes on: every request, preflights, or
   * requests for metadata about the resource, which clients without credentials make.
   */
  readonly repliesTo?: 'requests' | 'preflights' | 'metadata'
  /** Whether it does nothing for a request that does not go on to a backend. */
  readonly isForForwarding: boolean
  /** It asks a service, which may say anything, once for a request. */
  readonly asksService: boolean
  /** It looks at the messages of models and MCP servers, after all rules. */
  readonly checksMessages: boolean
  /** Expressions that run after it read what it sets. */
  readonly setsMetadata: boolean
  /** The kinds of backends that enforce it: others would be open behind it. Undefined: all. */
  readonly enforcedBy?: (value: never) => readonly Backend['kind'][] | undefined
  /** A setting that does nothing because of another one of the same value. */
  readonly neverReached?: (value: never) => NeverReached | undefined
  /** It counts requests, and responds by how many there were. */
  readonly countsRequests: boolean
  /** Read when a backend is connected to: about choosing among its endpoints, or about them all. */
  readonly cluster?: 'endpoints' | 'connections'
  /** It says how connections are taken: where it could not be read, none are. */
  readonly takesConnections: boolean
  /** At a gateway or listener it may be written right beside `port`, without `policies:`. */
  readonly isInline: boolean
  /** Leaving it out is the same as writing it without any settings. */
  readonly hasDefaults: boolean
  /** What it looks at of the body by itself; what its expressions read is seen when they compile. */
  readonly body?: (value: never) => BodyNeed
  /** Paths at which it reads the whole body, whatever it needs elsewhere. */
  readonly bodyAt?: (value: never) => readonly string[]
}

export interface NeverReached {
  readonly message: string
  readonly hint: string
}

/** All of it must be there before the policy runs, or as much as fits, or it does not matter. */
export type BodyNeed = 'whole' | 'beginning' | undefined

type Said = Partial<Omit<PolicySchema, 'kind' | 'sections' | 'schema'>>

type Sections = Readonly<Partial<Record<Section, readonly Level[]>>>

const FRONTEND: Sections = { frontend: ['frontend', 'gateway'] }
const TRAFFIC: Sections = { traffic: ['gateway', 'listener', 'route'] }
const BACKEND: Sections = { backend: ['gateway', 'listener', 'route', 'backend', 'provider'] }
/** What has endpoints to choose among. */
const ENDPOINTS: Sections = { backend: ['backend'] }
const AGENT: Sections = { backend: ['route', 'backend'] }
const BOTH: Sections = { ...TRAFFIC, ...BACKEND }

/** Of a policy that says nothing else. */
const USUAL = {
  aliases: [],
  composes: false,
  identifies: [],
  hasRules: false,
  isForForwarding: false,
  asksService: false,
  checksMessages: false,
  setsMetadata: false,
  countsRequests: false,
  takesConnections: false,
  hasDefaults: false,
  isInline: false,
} as const

/** One of several credentials is enough. */
const anyOf = authenticationOf({ jwtAuthentication, apiKey, basicAuth })

/**
 * All kinds; those that run for a request do so in this order. Those that change responses come
 * first, so that they also reach the responses of the gateway itself; a preflight has no
 * credentials and is responded to before any are required; nothing is counted or sent on for a
 * request that is denied. Responses meet them in the reverse order, so that what is compressed is
 * what all others made.
 */
export const POLICY_SCHEMAS: readonly PolicySchema[] = [
  define('proxyProtocol', FRONTEND, proxyProtocol, { aliases: ['proxy'], takesConnections: true }),
  define('frontendTcp', FRONTEND, frontendTcp, { key: 'tcp', takesConnections: true }),
  define('frontendTls', FRONTEND, frontendTls, {
    key: 'tls',
    takesConnections: true,
    hasDefaults: true,
  }),
  define('networkAuthorization', FRONTEND, networkAuthorization, {
    composes: true,
    hasRules: true,
    takesConnections: true,
  }),
  define('frontendHttp', FRONTEND, frontendHttp, {
    key: 'http',
    takesConnections: true,
    hasDefaults: true,
  }),
  define('connect', FRONTEND, connect, { hasDefaults: true }),
  define('accessLog', FRONTEND, accessLog, { aliases: ['logging'] }),
  define('tracing', FRONTEND, tracing),

  define('compression', TRAFFIC, compression),
  define('responseHeaders', BOTH, responseHeaders, { aliases: ['responseHeaderModifier'] }),
  define('timeout', TRAFFIC, timeout, { aliases: ['timeouts'], neverReached }),
  define('cors', TRAFFIC, cors, { repliesTo: 'preflights', isInline: true }),
  define('csrf', TRAFFIC, csrf),
  authentication(
    'jwtAuthentication',
    TRAFFIC,
    jwtAuthentication,
    ['jwtAuth', 'mcpAuthentication'],
    ['jwt'],
    { bodyAt: pathsOfBody, repliesTo: 'metadata' },
  ),
  authentication('basicAuth', TRAFFIC, basicAuth, ['basicAuthentication'], ['basicAuth']),
  authentication('apiKey', TRAFFIC, apiKey, ['apiKeyAuthentication'], ['apiKey']),
  authentication('authentication', TRAFFIC, anyOf, [], ['jwt', 'apiKey', 'basicAuth'], {
    isInline: false,
  }),
  authentication('oidc', TRAFFIC, oidc, [], ['jwt'], {
    isInline: false,
    asksService: true,
    bodyAt: (value: Oidc) => [pathOfBody(value)],
  }),
  authentication('extAuthz', BOTH, extAuthz, ['extAuth'], ['extauthz'], {
    plain: plainExtAuthz,
    asksService: true,
    body: bodyShown,
  }),
  define('authorization', BOTH, authorization, {
    composes: true,
    hasRules: true,
    isInline: true,
    quick: readQuickRules,
  }),
  define('localRateLimit', TRAFFIC, localRateLimit, {
    plain: plainRateLimit,
    countsRequests: true,
  }),
  define('remoteRateLimit', TRAFFIC, remoteRateLimit, {
    plain: plainRemoteRateLimit,
    asksService: true,
    countsRequests: true,
  }),
  define('budgets', TRAFFIC, budgets, { composes: true, countsRequests: true }),
  define('extProc', TRAFFIC, extProc, {
    plain: plainExtProc,
    asksService: true,
    body: bodyProcessed,
  }),
  define('backendAuth', BACKEND, backendAuth, {
    aliases: ['auth'],
    enforcedBy: backendsOfCredential,
  }),
  define('transformations', BOTH, transformations, {
    aliases: ['transformation'],
    isInline: true,
    setsMetadata: true,
  }),
  define('buffer', TRAFFIC, buffer),
  define('requestHeaders', BOTH, requestHeaders, { aliases: ['requestHeaderModifier'] }),
  define('urlRewrite', TRAFFIC, urlRewrite, { isForForwarding: true }),
  define('requestRedirect', TRAFFIC, requestRedirect, { repliesTo: 'requests' }),
  define('directResponse', TRAFFIC, directResponse, {
    plain: plainDirectResponse,
    repliesTo: 'requests',
  }),
  define('delay', TRAFFIC, delay, { isForForwarding: true }),
  define('requestMirror', TRAFFIC, requestMirror, { isForForwarding: true }),
  define('retry', TRAFFIC, retry, { isForForwarding: true }),

  define('mcpAuthorization', BACKEND, mcpAuthorization, {
    aliases: ['mcp.authorization'],
    stage: 'mcp',
    composes: true,
    hasRules: true,
    enforcedBy: () => ['mcp'],
  }),
  define('a2a', AGENT, a2a, { body: () => 'whole' }),
  define('inferenceRouting', ENDPOINTS, inferenceRouting, {
    asksService: true,
    body: () => 'whole',
    // It picks one of the endpoints that only such a backend has.
    enforcedBy: () => ['host'],
  }),
  define('ai', BACKEND, ai, { composes: true, enforcedBy: () => ['ai'] }),
  define('guardrails', BACKEND, guardrails, {
    aliases: ['promptGuard', 'ai.promptGuard'],
    composes: true,
    checksMessages: true,
    enforcedBy: () => ['ai', 'mcp'],
  }),
  define('loadBalancer', BACKEND, loadBalancer, { cluster: 'endpoints' }),
  define('healthCheck', BACKEND, healthCheck, { cluster: 'endpoints' }),
  define('outlierDetection', BACKEND, outlierDetection, {
    aliases: ['health'],
    cluster: 'endpoints',
  }),
  define('connectionLimits', BACKEND, connectionLimits, { cluster: 'connections' }),
  define('tcp', BACKEND, tcp, { cluster: 'connections' }),
  define('backendTLS', BACKEND, backendTLS, { cluster: 'connections' }),
  define('http', BACKEND, http, { cluster: 'connections' }),
]

function define(
  kind: string,
  sections: Sections,
  schema: z.ZodType,
  said: Said = {},
): PolicySchema {
  // The id makes one definition of it in JSON Schema, however often it is used.
  const known = schema.meta({ ...schema.meta(), id: kind })
  return { kind, key: kind, sections, schema: known, ...USUAL, ...said }
}

/** All of them that reach a request run, whatever level they are attached at. */
function authentication(
  kind: string,
  sections: Sections,
  schema: z.ZodType,
  aliases: readonly string[],
  identifies: readonly IdentityVariable[],
  said: Said = {},
): PolicySchema {
  const usual = { composes: true, isInline: true }
  return define(kind, sections, schema, { ...usual, aliases, identifies, ...said })
}

export function policySchema(kind: string): z.ZodType {
  const found = POLICY_SCHEMAS.find((policy) => policy.kind === kind)
  if (found === undefined) throw new Error(`unknown policy ${kind}`)
  return found.schema
}

/** The form of a policy without `conditional`. */
export function plainSchema(kind: string): z.ZodType {
  return POLICY_SCHEMAS.find((policy) => policy.kind === kind)?.plain ?? policySchema(kind)
}

export type { Stage } from '../cel/index.ts'
export type { IdentityVariable } from '../exchange/identity.ts'
export { type Found, findAnnotated } from './annotations.ts'
export type { Authorization, AuthorizationRule } from './authorization-rules.ts'
export { appliesAlways, entriesIn, isConditional, valuesOf } from './conditional.ts'
export { checkExpression, STAGE_OF_SECTION } from './expressions.ts'
export { keepalives } from './keepalives.ts'
export {
  file,
  fileOrSecret,
  fileOrText,
  fillMaterials,
  sealSecret,
  secret,
  secretVersion,
  settingSecret,
  textOrFile,
} from './materials.ts'
export * from './scalars.ts'
export { aliased, constraintOf, type IssueParams, issue, oneOfKeys } from './shapes.ts'
export { backendName, type HostTarget, host, parseHost, service } from './target.ts'
export { requestPath } from './written-path.ts'
