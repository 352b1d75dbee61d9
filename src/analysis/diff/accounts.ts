import { isSame } from './same-parts.ts'

/**
 * What accounts for a part of the Model that differs between two Models. Only parts listed here by
 * name are accounted for. For all others, including any part added to the Model later, it is
 * unknown whether a difference changes anything.
 */
export type Accountant =
  /** The comparison of rules on each way through the gateway. */
  | 'rules'
  /** The comparison of the ways and of what routes match. */
  | 'routes'
  /** The comparison of authentications on each way. */
  | 'authentication'
  /** The comparison of which proxies the gateway trusts for the source, if a rule reads it. */
  | 'source'
  /** The comparison of how connections may begin. */
  | 'openings'
  /** The comparison of what is requested from clients in the handshake. */
  | 'certificates'
  /** The comparison of the listeners that share a port. */
  | 'ports'
  /** The comparison of limits on each way. */
  | 'limits'
  /** Nothing needs to: it applies after the decision, or only limits durations and concurrency. */
  | 'nothing'

export interface Account {
  readonly by: Accountant
  /** Whether the parts below are accounted for one by one; if not, the whole part is. */
  readonly opens?: true
  /** Applies only if this is true of the two values; undefined is an absent value. */
  readonly when?: (old: unknown, now: unknown) => boolean
  /** Whether a value decides by itself, so that ways with and without it are not alike. */
  readonly decides?: (value: unknown) => boolean
  /** Applies only below one of these paths, if the part there is added or removed. */
  readonly under?: readonly string[]
  /** Applies only if neither Model has a policy of these kinds, which depend on it. */
  readonly without?: readonly string[]
}

const isListed = (value: unknown) => Array.isArray(value) && value.length > 0
const bothListed = (old: unknown, now: unknown) => isListed(old) && isListed(now)
const areThere = (old: unknown, now: unknown) => old !== undefined && now !== undefined
const isNotInvalid = (value: unknown) => value !== 'invalid'

const OPENS = { by: 'routes', opens: true } as const
const ROUTES = { by: 'routes' } as const
const DECIDES_NOTHING = { by: 'nothing' } as const
const LIMIT: Account = { by: 'limits', decides: () => true }

/** If a listener is added or removed, everything in it is compared with its ways. */
const NEW_LISTENER = { by: 'routes', under: ['gateways[]', 'gateways[].listeners[]'] } as const
const NEW_BACKEND = { by: 'routes', under: ['backends[]'] } as const
const MODEL: Readonly<Record<string, Account>> = {
  'gateways[]': OPENS,
  'gateways[].listeners': OPENS,
  'gateways[].listeners[]': OPENS,
  'gateways[].policies': OPENS,
  'gateways[].listeners[].policies': OPENS,
  'gateways[].listeners[].hostname': { by: 'ports' },
  'gateways[].listeners[].protocol': NEW_LISTENER,
  'gateways[].listeners[].port': { ...NEW_LISTENER, by: 'ports' },
  'gateways[].listeners[].tls': NEW_LISTENER,
  'gateways[].listeners[].tls.clients': { by: 'certificates', opens: true },
  'gateways[].listeners[].tls.clients.mode': { by: 'certificates' },
  // Certificates of two authorities cannot be generated for an example.
  'gateways[].listeners[].tls.clients.ca': {
    by: 'certificates',
    under: ['gateways[].listeners[].tls.clients'],
  },
  /** What the gateway presents to clients, not what it requests from them. */
  'gateways[].listeners[].tls.certificates': DECIDES_NOTHING,

  'routes[]': OPENS,
  'routes.order': ROUTES,
  'routes[].hostnames': ROUTES,
  ...parents('routes[]'),
  'routes[].policies': OPENS,
  'routes[].rules': OPENS,
  'routes[].rules.order': ROUTES,
  'routes[].rules[]': OPENS,
  'routes[].rules[].matches': OPENS,
  'routes[].rules[].matches[]': OPENS,
  'routes[].rules[].matches[].path': OPENS,
  'routes[].rules[].matches[].path.kind': ROUTES,
  'routes[].rules[].matches[].path.value': ROUTES,
  'routes[].rules[].matches[].method': ROUTES,
  ...valueMatches('routes[].rules[].matches[].headers'),
  ...valueMatches('routes[].rules[].matches[].query'),
  'routes[].rules[].policies': OPENS,
  'routes[].rules[].action': OPENS,
  'routes[].rules[].action.kind': { by: 'routes', under: ['routes[]', 'routes[].rules[]'] },
  'routes[].rules[].action.backends': OPENS,
  'routes[].rules[].action.backends.order': DECIDES_NOTHING,
  'routes[].rules[].action.backends[]': OPENS,
  'routes[].rules[].action.backends[].policies': OPENS,
  // A backend without a share is not a way through the gateway.
  'routes[].rules[].action.backends[].weight': ROUTES,

  'tcpRoutes[]': OPENS,
  'tcpRoutes.order': ROUTES,
  'tcpRoutes[].hostnames': ROUTES,
  ...parents('tcpRoutes[]'),
  'tcpRoutes[].policies': OPENS,
  'tcpRoutes[].action': OPENS,
  'tcpRoutes[].action.kind': { by: 'routes', under: ['tcpRoutes[]'] },
  'tcpRoutes[].action.backends': { by: 'nothing', when: bothListed },

  'backends[]': OPENS,
  'backends.order': DECIDES_NOTHING,
  'backends[].kind': NEW_BACKEND,
  'backends[].policies': OPENS,
  // The destinations of admitted requests. Backends that decide themselves are handled separately.
  'backends[].endpoints': DECIDES_NOTHING,
  'backends[].path': DECIDES_NOTHING,
  'backends[].service': DECIDES_NOTHING,
  'backends[].namespace': DECIDES_NOTHING,
  'backends[].port': DECIDES_NOTHING,
  'backends[].target': NEW_BACKEND,
  'backends[].targets': OPENS,
  'backends[].targets[]': OPENS,
  'backends[].targets[].policies': { ...OPENS, when: onlyMessageRules },
  'backends[].models': ROUTES,
  'backends[].virtualModels': ROUTES,
  'backends[].allowEndpoints': ROUTES,
  'backends[].groups': OPENS,
  'backends[].groups[]': OPENS,
  'backends[].groups[].providers': OPENS,
  'backends[].groups[].providers.order': DECIDES_NOTHING,
  'backends[].groups[].providers[]': OPENS,
  'backends[].groups[].providers[].policies': OPENS,
  'backends[].groups[].providers[].provider': ROUTES,
  'backends[].groups[].providers[].options': ROUTES,
  'backends[].groups[].providers[].endpoint': DECIDES_NOTHING,

  frontend: OPENS,

  'settings.workers': DECIDES_NOTHING,
  'settings.admin': DECIDES_NOTHING,
  'settings.stats': DECIDES_NOTHING,
  'settings.readiness': DECIDES_NOTHING,
  'settings.dns': DECIDES_NOTHING,
  'settings.logging': DECIDES_NOTHING,
  'settings.metrics': DECIDES_NOTHING,
  'settings.drain': DECIDES_NOTHING,
  'settings.decisions': DECIDES_NOTHING,
  'settings.upstream': DECIDES_NOTHING,
  // Calls to models without a price are denied.
  'settings.modelCatalog': { by: 'nothing', without: ['budgets', 'remoteRateLimit'] },
  'settings.sensitiveHeaders': DECIDES_NOTHING,
  'settings.standardAttributes': DECIDES_NOTHING,
}

/** Other policies of a server take part in no comparison. */
function onlyMessageRules(old: unknown, now: unknown): boolean {
  const others = (value: unknown) =>
    listOf(value).filter((one) => (one as { readonly kind?: unknown }).kind !== 'mcpAuthorization')
  return isSame(others(old), others(now))
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function parents(route: string): Readonly<Record<string, Account>> {
  return {
    [`${route}.parents`]: OPENS,
    [`${route}.parents[]`]: OPENS,
    [`${route}.parents[].gateway`]: ROUTES,
    [`${route}.parents[].listener`]: ROUTES,
  }
}

function valueMatches(list: string): Readonly<Record<string, Account>> {
  return {
    [list]: OPENS,
    [`${list}.order`]: ROUTES,
    [`${list}[]`]: OPENS,
    [`${list}[].kind`]: ROUTES,
    [`${list}[].value`]: ROUTES,
  }
}

const RULES: Readonly<Record<string, Account>> = {
  rules: { by: 'rules', opens: true },
  'rules[]': { by: 'rules', opens: true },
  'rules[].action': { by: 'rules' },
  'rules[].expression': { by: 'rules' },
  'rules[].field': { by: 'nothing' },
  mode: { by: 'rules' },
}

/** Keyed by kind of policy, then by key of its value. Kinds not listed are not accounted for. */
const POLICIES: Readonly<Record<string, Account | Readonly<Record<string, Account>>>> = {
  authorization: RULES,
  networkAuthorization: RULES,
  mcpAuthorization: RULES,
  jwtAuthentication: { by: 'authentication' },
  basicAuth: { by: 'authentication' },
  apiKey: { by: 'authentication' },
  authentication: { by: 'authentication' },
  oidc: { by: 'authentication' },
  extAuthz: { by: 'authentication' },
  localRateLimit: LIMIT,
  remoteRateLimit: LIMIT,
  budgets: LIMIT,

  // Without the limits on sizes, which decide what is read at all.
  frontendHttp: {
    trustedHops: { by: 'source' },
    // Services that decide get these headers, too.
    forwarded: { by: 'nothing', without: ['extAuthz', 'extProc', 'inferenceRouting'] },
    ...nothing(
      'headTimeout',
      'bodyTimeout',
      'http1IdleTimeout',
      'http1HeaderCase',
      'http2MaxConcurrentStreams',
      'http2MaxResetsPerSecond',
      'http2MaxControlFramesPerSecond',
      'http2WindowSize',
      'http2ConnectionWindowSize',
      'http2FrameSize',
      'http2KeepaliveInterval',
      'http2KeepaliveTimeout',
      'maxConnectionDuration',
      'upgrades',
    ),
  },
  proxyProtocol: { mode: { by: 'openings' }, version: { by: 'openings' } },
  frontendTcp: nothing('keepalives'),
  frontendTls: nothing('handshakeTimeout'),
  accessLog: nothing('enabled', 'filter', 'sample', 'add', 'remove', 'otlp'),
  tracing: nothing(
    'target',
    'protocol',
    'path',
    'randomSampling',
    'clientSampling',
    'filter',
    'attributes',
    'resources',
    'remove',
  ),
  timeout: nothing('request', 'backendRequest', 'responseIdle'),
  retry: nothing(
    'attempts',
    'backoff',
    'codes',
    'connectionErrors',
    'precondition',
    'condition',
    'maxBodyBytes',
  ),
  // Rules read the request as received, regardless of what is sent on.
  requestHeaders: nothing('add', 'set', 'remove'),
  responseHeaders: nothing('add', 'set', 'remove', 'compute'),
  urlRewrite: nothing('authority', 'path'),
  // The comparison of rules covers which requests the gateway itself responds to, and whether it
  // responds with an error. Whether it responds at all is a different kind of change than what is
  // admitted.
  requestRedirect: { status: { by: 'rules', when: areThere }, ...nothing('scheme', 'authority') },
  directResponse: {
    status: { by: 'rules', when: areThere },
    ...nothing('body'),
    conditional: {
      by: 'rules',
      when: (old, now) => areThere(old, now) && !areComputed(old, now),
      decides: (value) => areComputed(value),
    },
    headers: {
      by: 'nothing',
      when: (old, now) => isEmpty(old) && isEmpty(now),
      decides: (value) => !isEmpty(value),
    },
  },
  // Rules read the request as received, except for metadata, which rules of backends may read.
  transformations: {
    variants: {
      by: 'nothing',
      when: (old, now) => !decidesLater(old) && !decidesLater(now),
      decides: decidesLater,
    },
  },
  // How the backend uses the credentials is up to the backend. Clients without a token to exchange
  // are denied.
  backendAuth: {
    by: 'nothing',
    when: (old, now) => ![old, now].some((one) => needsToken((one as Valued | undefined)?.value)),
    decides: needsToken,
  },
  // Bodies too large to buffer may be rejected.
  buffer: {
    request: {
      by: 'nothing',
      when: (old, now) => !rejectsLong(old) && !rejectsLong(now),
      decides: rejectsLong,
    },
    ...nothing('response'),
  },
  compression: nothing('algorithms', 'minBytes', 'contentTypes'),
  /** A service that receives a copy decides nothing. */
  requestMirror: DECIDES_NOTHING,
  loadBalancer: nothing('algorithm', 'hashKey'),
  healthCheck: nothing(
    'http',
    'tcp',
    'port',
    'interval',
    'timeout',
    'unhealthyThreshold',
    'healthyThreshold',
  ),
  outlierDetection: nothing('unhealthyExpression', 'eviction'),
  connectionLimits: nothing(
    'maxConnections',
    'maxPendingRequests',
    'maxRequestsPerConnection',
    'maxAge',
    'idleTimeout',
  ),
  tcp: nothing('connectTimeout', 'keepalives'),
  backendTLS: nothing(
    'root',
    'cert',
    'key',
    'hostname',
    'subjectAltNames',
    'insecure',
    'insecureHost',
    'alpn',
    'keyExchangeGroups',
  ),
  http: nothing(
    'version',
    'requestTimeout',
    'responseIdleTimeout',
    'maxResponseHeadSize',
    'maxResponseHeaders',
  ),
}

/** Computed values may fail, which results in an error response. */
function areComputed(...conditional: readonly unknown[]): boolean {
  return /"bodyExpression":|"headers":\{"/.test(JSON.stringify(conditional))
}

function isEmpty(headers: unknown): boolean {
  return Object.keys((headers ?? {}) as object).length === 0
}

/** Metadata, and request bodies that are buffered to be changed. */
function decidesLater(variants: unknown): boolean {
  if (JSON.stringify(variants ?? '').includes('"metadata":[{')) return true
  const all = (variants ?? []) as readonly { readonly request?: { readonly body?: unknown } }[]
  return all.some(({ request }) => request?.body !== undefined)
}

interface Valued {
  readonly value?: unknown
}

function needsToken(value: unknown): boolean {
  const { kind } = (value ?? {}) as { readonly kind?: string }
  return kind === 'exchange' || kind === 'user' || kind === 'aws' || kind === 'azure'
}

function rejectsLong(request: unknown): boolean {
  return (request as { readonly failureMode?: string } | undefined)?.failureMode === 'FailClosed'
}

function nothing(...keys: readonly string[]): Readonly<Record<string, Account>> {
  return Object.fromEntries(keys.map((key) => [key, DECIDES_NOTHING]))
}

/** Keyed by path, with `[]` for any item of a list and `policy(kind)` for a policy at any place. */
export const ACCOUNTS: ReadonlyMap<string, Account> = new Map([
  ...Object.entries(MODEL),
  ...Object.entries(POLICIES).flatMap(([kind, own]) => accountsOfPolicy(kind, own)),
])

function accountsOfPolicy(
  kind: string,
  own: Account | Readonly<Record<string, Account>>,
): readonly (readonly [string, Account])[] {
  if (isAccount(own)) return [[`policy(${kind})`, own]]
  const by = Object.values(own)[0]?.by ?? 'nothing'
  return [
    [`policy(${kind})`, { by, opens: true }],
    // A policy that fails and so denies every request is not the same as one that works.
    [`policy(${kind}).state`, { by, when: (old, now) => isNotInvalid(old) && isNotInvalid(now) }],
    [`policy(${kind}).value`, { by, opens: true }],
    ...Object.entries(own).map(([key, one]) => [`policy(${kind}).value.${key}`, one] as const),
  ]
}

function isAccount(own: Account | Readonly<Record<string, Account>>): own is Account {
  return typeof own['by'] === 'string'
}
