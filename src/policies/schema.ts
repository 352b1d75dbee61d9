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

/** What is known about a kind of policy before it is compiled. */
export interface PolicySchema {
  readonly kind: string
  /** The key in a file, if it differs from the kind. */
  readonly key: string
  /** Other spellings of the key; `a.b` is the key `b` in a mapping `a`. */
  readonly aliases: readonly string[]
  /** The sections that may contain it, and the levels at which it can be attached there. */
  readonly sections: Sections
  readonly schema: z.ZodType
  /** A fast path of the schema for the most common values; undefined for all others. */
  readonly quick?: (value: unknown) => QuickPolicy | undefined
  /** All policies of this kind apply together; of other kinds, the first at a level applies. */
  readonly composes: boolean
  /** The variables in which it provides the identity of the client. */
  readonly identifies: readonly IdentityVariable[]
  /** The schema without `conditional`, for a kind that may be conditional. */
  readonly plain?: z.ZodType
  /** The stage of its expressions, if it differs from that of the section. */
  readonly stage?: Stage
  /** Its value consists of Allow, Deny and Require rules, which decide at its stage. */
  readonly hasRules: boolean
  /**
   * The requests to which it responds itself, so that they are not forwarded: every request,
   * preflights, or requests for metadata about the resource, which clients send without
   * credentials.
   */
  readonly repliesTo?: 'requests' | 'preflights' | 'metadata'
  /** Whether it has no effect on requests that are not forwarded to a backend. */
  readonly isForForwarding: boolean
  /** It calls a service, which may return any verdict, once per request. */
  readonly callsService: boolean
  /** It inspects messages of models and MCP servers, after all rules. */
  readonly checksMessages: boolean
  /** Expressions that run after it read metadata that it sets. */
  readonly setsMetadata: boolean
  /** The kinds of backends that enforce it: others would be unprotected. Undefined: all. */
  readonly enforcedBy?: (value: never) => readonly Backend['kind'][] | undefined
  /** A setting that has no effect because of another one in the same value. */
  readonly neverReached?: (value: never) => NeverReached | undefined
  /** It counts requests, and responds depending on their number. */
  readonly countsRequests: boolean
  /**
   * Read when the gateway connects to a backend: to choose an endpoint, or for every connection.
   */
  readonly cluster?: 'endpoints' | 'connections'
  /** It configures how connections are accepted: if it cannot be read, none are. */
  readonly takesConnections: boolean
  /** At a gateway or listener, it may be written next to `port`, without `policies:`. */
  readonly isInline: boolean
  /** Omitting it is equivalent to setting it without any options. */
  readonly hasDefaults: boolean
  /**
   * What it reads of the body itself; what its expressions read is determined when they compile.
   */
  readonly body?: (value: never) => BodyNeed
  /** Paths at which it reads the whole body, whatever it needs elsewhere. */
  readonly bodyAt?: (value: never) => readonly string[]
}

export interface NeverReached {
  readonly message: string
  readonly hint: string
}

/** The whole body must be buffered before the policy runs, or as much as fits, or nothing. */
export type BodyNeed = 'whole' | 'beginning' | undefined

type Said = Partial<Omit<PolicySchema, 'kind' | 'sections' | 'schema'>>

type Sections = Readonly<Partial<Record<Section, readonly Level[]>>>

const FRONTEND: Sections = { frontend: ['frontend', 'gateway'] }
const TRAFFIC: Sections = { traffic: ['gateway', 'listener', 'route'] }
const BACKEND: Sections = { backend: ['gateway', 'listener', 'route', 'backend', 'provider'] }
/** Objects that have endpoints to choose from. */
const ENDPOINTS: Sections = { backend: ['backend'] }
const AGENT: Sections = { backend: ['route', 'backend'] }
const BOTH: Sections = { ...TRAFFIC, ...BACKEND }

/** Defaults of a kind. */
const USUAL = {
  aliases: [],
  composes: false,
  identifies: [],
  hasRules: false,
  isForForwarding: false,
  callsService: false,
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
 * All kinds; those that run for a request run in this order. Kinds that change responses come
 * first, so that they also apply to responses of the gateway itself; a preflight has no
 * credentials, so it gets a response before any are required; a denied request is not counted or
 * forwarded. Responses pass them in reverse order, so that compression applies to the output of all
 * others.
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
    callsService: true,
    bodyAt: (value: Oidc) => [pathOfBody(value)],
  }),
  authentication('extAuthz', BOTH, extAuthz, ['extAuth'], ['extauthz'], {
    plain: plainExtAuthz,
    callsService: true,
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
    callsService: true,
    countsRequests: true,
  }),
  define('budgets', TRAFFIC, budgets, { composes: true, countsRequests: true }),
  define('extProc', TRAFFIC, extProc, {
    plain: plainExtProc,
    callsService: true,
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
    callsService: true,
    body: () => 'whole',
    // It picks an endpoint, and only such a backend has endpoints.
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
  // The id results in one definition in JSON Schema, however often it is used.
  const known = schema.meta({ ...schema.meta(), id: kind })
  return { kind, key: kind, sections, schema: known, ...USUAL, ...said }
}

/** All policies that apply to a request run, at whatever level they are attached. */
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

/** The schema of a policy without `conditional`. */
export function plainSchema(kind: string): z.ZodType {
  return POLICY_SCHEMAS.find((policy) => policy.kind === kind)?.plain ?? policySchema(kind)
}

export type { Stage } from '../cel/index.ts'
export type { IdentityVariable } from '../exchange/identity.ts'
export {
  annotationOf,
  type CheckText,
  type Found,
  findAnnotated,
  type ResultType,
} from './annotations.ts'
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
export {
  aliased,
  aliasOf,
  constraintOf,
  describeAlias,
  type IssueParams,
  issue,
  oneOfKeys,
} from './shapes.ts'
export { backendName, type HostTarget, host, parseHost, service } from './target.ts'
export { requestPath } from './written-path.ts'
