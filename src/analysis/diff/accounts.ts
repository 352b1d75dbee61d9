/**
 * Who accounts for a part of the Model that differs between two of them. What stands here by name
 * is accounted for; everything else, and so every part that is added to the Model later, is not:
 * whether it changes anything is then not known.
 */
export type Accountant =
  /** The comparison of rules at each way through the gateway. */
  | 'rules'
  /** The comparison of what routes take, and of the ways that there are. */
  | 'routes'
  /** The comparison of authentications on each way. */
  | 'authentication'
  /** The comparison of whom the gateway believes about the source, where a rule reads it. */
  | 'source'
  /** The comparison of how connections may begin. */
  | 'openings'
  /** The comparison of what is asked of clients in the handshake. */
  | 'certificates'
  /** The comparison of the listeners that share a port. */
  | 'ports'
  /** Nothing needs to: it comes after the decision, or says how long and how much at once. */
  | 'nothing'

export interface Account {
  readonly by: Accountant
  /** Whether the parts below are accounted for one by one; else the whole is. */
  readonly opens?: true
  /** Only where this is so of the two values; undefined is what is not there. */
  readonly when?: (old: unknown, now: unknown) => boolean
  /** Whether a value of it decides by itself, so that ways with and without it are not alike. */
  readonly decides?: (value: unknown) => boolean
  /** Only below one of these, where that is new or gone. */
  readonly under?: readonly string[]
  /** Only where neither Model has a policy of one of these kinds, which go by it. */
  readonly without?: readonly string[]
}

const isListed = (value: unknown) => Array.isArray(value) && value.length > 0
const bothListed = (old: unknown, now: unknown) => isListed(old) && isListed(now)
const areThere = (old: unknown, now: unknown) => old !== undefined && now !== undefined
const isNotInvalid = (value: unknown) => value !== 'invalid'

const OPENS = { by: 'routes', opens: true } as const
const ROUTES = { by: 'routes' } as const
const DECIDES_NOTHING = { by: 'nothing' } as const

/** Of a listener that is new or gone, all of it goes with its ways. */
const NEW_LISTENER = { by: 'routes', under: ['gateways[]', 'gateways[].listeners[]'] } as const
const NEW_BACKEND = { by: 'routes', under: ['backends[]'] } as const
const NEW_PROVIDER = {
  by: 'routes',
  under: ['backends[]', 'backends[].groups[]', 'backends[].groups[].providers[]'],
} as const

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
  // Certificates of two authorities cannot be made up.
  'gateways[].listeners[].tls.clients.ca': {
    by: 'certificates',
    under: ['gateways[].listeners[].tls.clients'],
  },
  /** What the gateway shows to clients, not what it asks of them. */
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
  // A backend without a share is no way through.
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
  // Where requests go once they are admitted. Backends that decide themselves are kept apart.
  'backends[].endpoints': DECIDES_NOTHING,
  'backends[].path': DECIDES_NOTHING,
  'backends[].service': DECIDES_NOTHING,
  'backends[].namespace': DECIDES_NOTHING,
  'backends[].port': DECIDES_NOTHING,
  // An expression, which may fail.
  'backends[].target': NEW_BACKEND,
  'backends[].groups': OPENS,
  'backends[].groups[]': OPENS,
  'backends[].groups[].providers': OPENS,
  'backends[].groups[].providers.order': DECIDES_NOTHING,
  'backends[].groups[].providers[]': OPENS,
  'backends[].groups[].providers[].policies': OPENS,
  // Which calls can be translated for it, and which models it has.
  'backends[].groups[].providers[].provider': NEW_PROVIDER,
  'backends[].groups[].providers[].options': NEW_PROVIDER,
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
  // What calls are estimated to cost; those to models without a price are denied.
  'settings.modelCatalog': { by: 'nothing', without: ['budgets', 'remoteRateLimit'] },
  'settings.sensitiveHeaders': DECIDES_NOTHING,
  'settings.standardAttributes': DECIDES_NOTHING,
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
  /** Where it is written. */
  'rules[].field': { by: 'nothing' },
  mode: { by: 'rules' },
}

/** By kind of policy, then by key of its value. Kinds that are not here are not accounted for. */
const POLICIES: Readonly<Record<string, Account | Readonly<Record<string, Account>>>> = {
  authorization: RULES,
  networkAuthorization: RULES,
  jwtAuthentication: { by: 'authentication' },
  basicAuth: { by: 'authentication' },
  apiKey: { by: 'authentication' },
  authentication: { by: 'authentication' },
  oidc: { by: 'authentication' },
  extAuthz: { by: 'authentication' },

  // Limits of sizes are not here: they decide which requests are read at all.
  frontendHttp: {
    trustedHops: { by: 'source' },
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
  timeout: nothing('request', 'backendRequest'),
  retry: nothing(
    'attempts',
    'backoff',
    'codes',
    'connectionErrors',
    'precondition',
    'condition',
    'maxBodyBytes',
  ),
  // Rules read the request as it came, whatever is sent on.
  requestHeaders: nothing('add', 'set', 'remove'),
  responseHeaders: nothing('add', 'set', 'remove', 'compute'),
  urlRewrite: nothing('authority', 'path'),
  // To whom the gateway itself responds, and whether with an error, is compared with the rules.
  // That it does at all is a change of another kind than what is admitted.
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
  // Rules read the request as it came, but for metadata, which those of backends may read.
  transformations: {
    variants: {
      by: 'nothing',
      when: (old, now) => !decidesLater(old) && !decidesLater(now),
      decides: decidesLater,
    },
  },
  // What the backend makes of it is its own; who has no token to exchange is denied.
  backendAuth: {
    by: 'nothing',
    when: (old, now) => ![old, now].some((one) => needsToken((one as Valued | undefined)?.value)),
    decides: needsToken,
  },
  // Bodies that are too long to be held may be rejected.
  buffer: {
    request: {
      by: 'nothing',
      when: (old, now) => !rejectsLong(old) && !rejectsLong(now),
      decides: rejectsLong,
    },
    ...nothing('response'),
  },
  compression: nothing('algorithms', 'minBytes', 'contentTypes'),
  /** Whoever gets a copy decides nothing. */
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
  http: nothing('version', 'requestTimeout', 'maxResponseHeadSize', 'maxResponseHeaders'),
}

/** What is computed may fail, which is an error response. */
function areComputed(...conditional: readonly unknown[]): boolean {
  return /"bodyExpression":|"headers":\{"/.test(JSON.stringify(conditional))
}

function isEmpty(headers: unknown): boolean {
  return Object.keys((headers ?? {}) as object).length === 0
}

/** Metadata, and bodies of requests that are held to be changed. */
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

/** By path, with `[]` for any item of a list and `policy(kind)` for a policy wherever it is. */
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
    // What guards a place by failing is not the same as what works.
    [`policy(${kind}).state`, { by, when: (old, now) => isNotInvalid(old) && isNotInvalid(now) }],
    [`policy(${kind}).value`, { by, opens: true }],
    ...Object.entries(own).map(([key, one]) => [`policy(${kind}).value.${key}`, one] as const),
  ]
}

function isAccount(own: Account | Readonly<Record<string, Account>>): own is Account {
  return typeof own['by'] === 'string'
}
