import fc from 'fast-check'

/** The parts of a configuration that can differ between the two sides of a comparison. */
export interface Drawn {
  readonly listeners: readonly { readonly hostname?: string; readonly rules: readonly Rule[] }[]
  readonly network: readonly Rule[]
  readonly gatewayRules: readonly Rule[]
  readonly token: Token | undefined
  readonly gatewayToken: Token | undefined
  readonly key: 'Strict' | 'Optional' | undefined
  readonly routes: readonly DrawnRoute[]
  readonly backend: { readonly name: string; readonly rules: readonly Rule[] }
  readonly hops: number
}

type Token = { readonly mode: string; readonly issuer: string }
type Rule = Readonly<Record<string, string>>

interface DrawnRoute {
  readonly match: object
  readonly hostnames: readonly string[]
  readonly rules: readonly Rule[]
  readonly mode: 'Enforce' | 'Audit'
  readonly entryRules: readonly Rule[]
}

export const ISSUER = 'https://i.example'

const OF_REQUESTS = [
  "request.path.startsWith('/admin')",
  "request.path == '//admin'",
  "request.path == '/a/'",
  "request.host == 'a.test'",
  "request.host == ''",
  "request.host.endsWith('.b.test')",
  "request.method == 'POST'",
  "request.query == 'q=1'",
  "request.version == 'HTTP/1.0'",
  "request.headers['x-a'] == '1'",
  "request.headers['X-A'] == ''",
  "request.headers['x-a'].contains(',')",
  "'x-a' in request.headers",
  "!('x-b' in request.headers)",
  "has(request.headers['x-b'])",
  "request.headers['x-b'].matches('^[a-z]+$')",
  "request.headers['x-a'] == request.headers['x-b']",
  "request.headers['host'] == 'a.test'",
]

const OF_IDENTITIES = [
  'has(jwt.sub)',
  '!has(jwt.sub)',
  "jwt.sub == 'alice'",
  "jwt.sub != 'alice'",
  "jwt.sub.startsWith('a')",
  'jwt.n > 0.5',
  'jwt.n == 5',
  'jwt.n > 1000000',
  "jwt.n > 'a'",
  "jwt.n == '5'",
  'type(jwt.n) == int',
  'jwt.n in [1, 5, 7.5]',
  'jwt.flag',
  '!jwt.flag',
  "'admin' in jwt.roles",
  "jwt.roles.exists(r, r == 'admin')",
  'jwt.roles.size() > 1',
  'has(jwt.realm.roles)',
  '!has(jwt.realm.roles)',
  "'x' in jwt.realm.roles",
  "jwt.realm == 'text'",
  'has(jwt.realm) && has(jwt.realm.roles)',
  "jwt.realm.roles == 'x'",
  '!has(jwt.realm.roles) || !has(jwt.realm)',
  "jwt['a.b'] == 1",
  'jwt.sub == null',
  "jwt.exists(k, k == 'sub')",
  'has(apiKey.team)',
  "apiKey.team == 'eng'",
  '!has(apiKey.team)',
  "jwt.sub == 'alice' || request.headers['x-a'] == '1'",
  "has(jwt.sub) ? jwt.sub == 'alice' : request.method == 'GET'",
]

const OF_CONNECTIONS = [
  "cidr('127.0.0.0/8').containsIP(source.address)",
  "cidr('10.0.0.0/8').containsIP(source.address)",
  "source.address == '127.0.0.1'",
  'source.port > 0',
  'has(destination.hostname)',
]

const OF_BACKENDS = ["backend.name == 'one'", "request.method == 'GET'", 'has(jwt.sub)']

function rulesOf(texts: readonly string[], max: number): fc.Arbitrary<readonly Rule[]> {
  const rule = fc
    .tuple(fc.constantFrom('allow', 'require', 'deny'), fc.constantFrom(...texts))
    .map(([action, text]): Rule => ({ [action]: text }))
  return fc.array(rule, { maxLength: max })
}

/** Empty four times out of five, so that later steps are reached. */
const seldom = <T>(empty: T, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(empty) }, { weight: 1, arbitrary: other })

const token = fc.option(
  fc.record({
    mode: fc.constantFrom('Strict', 'Optional', 'Optional', 'Permissive'),
    issuer: seldom(ISSUER, fc.constant('https://j.example')),
  }),
  { nil: undefined, freq: 8 },
)

const MATCHES = [
  {},
  {},
  { path: { pathPrefix: '/a' } },
  { path: { exact: '/admin' } },
  { path: { regex: '/[a-z]+' } },
  { method: 'POST' },
  { headers: [{ name: 'x-a', value: { exact: '1' } }] },
  { headers: [{ name: 'x-b', value: { regex: '[a-z]+' } }] },
  { query: [{ name: 'q', value: { exact: '1' } }] },
]

const routeOf = (texts: readonly string[]): fc.Arbitrary<DrawnRoute> =>
  fc.record({
    match: seldom({}, fc.constantFrom<object>(...MATCHES)),
    hostnames: fc.constantFrom([], [], ['a.test'], ['*.b.test']),
    rules: rulesOf(texts, 3),
    mode: fc.constantFrom('Enforce', 'Enforce', 'Enforce', 'Audit'),
    entryRules: seldom([], rulesOf(OF_BACKENDS, 1)),
  })

const listener = fc.record(
  {
    hostname: fc.constantFrom('a.test', '*.b.test'),
    rules: seldom([], rulesOf(OF_REQUESTS, 1)),
  },
  { requiredKeys: ['rules'] },
)

const drawnFrom = (texts: readonly string[]): fc.Arbitrary<Drawn> =>
  fc.record({
    listeners: fc.uniqueArray(listener, {
      minLength: 1,
      maxLength: 3,
      selector: ({ hostname }) => hostname,
    }),
    network: seldom([], rulesOf(OF_CONNECTIONS, 1)),
    gatewayRules: seldom([], rulesOf(texts, 1)),
    token,
    gatewayToken: seldom(undefined, token),
    key: seldom(undefined, fc.constantFrom('Strict' as const, 'Optional' as const)),
    routes: fc.array(routeOf(texts), { minLength: 1, maxLength: 3 }),
    backend: fc.record({
      name: fc.constantFrom('one', 'two'),
      rules: seldom([], rulesOf([...OF_BACKENDS, ...OF_REQUESTS], 2)),
    }),
    hops: seldom(0, fc.constant(1)),
  })

const KEYS = [
  ...(['listeners', 'network', 'gatewayRules', 'token', 'gatewayToken'] as const),
  ...(['key', 'routes', 'backend', 'hops'] as const),
]

/** Rules about the same attributes occur together more often than by chance. */
const about = (...names: readonly string[]) =>
  OF_IDENTITIES.filter((text) => names.some((name) => text.includes(name)))

const TOPICS = [
  [...OF_REQUESTS, ...OF_IDENTITIES, ...OF_CONNECTIONS.slice(0, 4)],
  about('jwt.n', 'jwt.flag'),
  about('jwt.realm'),
  about('jwt.sub', 'jwt.exists'),
  about('apiKey', 'jwt.roles'),
  OF_REQUESTS.filter((text) => text.includes('headers')),
]

/** Two configurations that have much in common. */
export const pair: fc.Arbitrary<readonly [Drawn, Drawn]> = fc
  .constantFrom(...TOPICS)
  .chain((texts) => fc.tuple(drawnFrom(texts), drawnFrom(texts), fc.subarray(KEYS)))
  .map(([old, other, kept]) => {
    const same = Object.fromEntries(kept.map((key) => [key, old[key]]))
    return [old, { ...other, ...same } as Drawn]
  })

/** The configuration file; JSON is valid YAML. */
export function configText(
  own: Drawn,
  at: {
    readonly port: number
    readonly backend: number
    readonly keySet: string
    readonly key: string
  },
): string {
  const rules = (all: readonly Rule[], mode?: string) =>
    all.length === 0 ? {} : { authorization: { rules: all, ...(mode ? { mode } : {}) } }
  const jwt = (one: Token | undefined) =>
    one === undefined ? {} : { jwtAuthentication: { ...one, jwks: { inline: at.keySet } } }
  const key = own.key && {
    apiKey: {
      mode: own.key,
      location: { header: { name: 'x-api-key' } },
      keys: [{ key: at.key, metadata: { team: 'eng' } }],
    },
  }
  return JSON.stringify({
    gateways: {
      default: {
        port: at.port,
        policies: { ...rules(own.gatewayRules), ...jwt(own.gatewayToken) },
        listeners: own.listeners.map(({ hostname, rules: all }, i) => ({
          name: `l${i}`,
          ...(hostname === undefined ? {} : { hostname }),
          policies: rules(all),
        })),
      },
    },
    routes: own.routes.map(({ match, hostnames, rules: all, mode, entryRules }, i) => ({
      name: `r${i}`,
      gateways: ['default'],
      hostnames,
      matches: [match],
      policies: { ...rules(all, mode), ...(i === 0 ? { ...jwt(own.token), ...key } : {}) },
      backends: [{ backend: own.backend.name, policies: rules(entryRules) }],
    })),
    backends: [
      {
        name: own.backend.name,
        host: `127.0.0.1:${at.backend}`,
        policies: rules(own.backend.rules),
      },
    ],
    frontendPolicies: {
      http: { trustedHops: own.hops },
      ...(own.network.length === 0 ? {} : { networkAuthorization: { rules: own.network } }),
    },
  })
}

/** The bytes of a request, except for its token, which is signed for each run. */
export interface DrawnRequest {
  readonly line: string
  readonly headers: readonly string[]
  readonly claims: Readonly<Record<string, unknown>> | undefined
  readonly token: 'valid' | 'expired' | 'forged'
  readonly key: 'good' | 'bad' | undefined
}

const json = fc.oneof(
  fc.constantFrom<unknown>('alice', 'bob', '', 5, 7.5, 0, 1e17, 1e300, true, false, null, [], {}),
  fc.constantFrom<unknown>(['admin'], ['a', 'admin', 5], { roles: ['x'] }, { roles: 'x' }, 'text'),
  fc.constantFrom<unknown>(
    'a'.repeat(300),
    Array.from({ length: 30 }, (_, i) => `r${i}`),
  ),
)

export const request: fc.Arbitrary<DrawnRequest> = fc.record({
  line: fc.constantFrom(
    ...['GET / HTTP/1.1', 'POST / HTTP/1.1', 'GET /admin HTTP/1.1', 'GET //admin HTTP/1.1'],
    ...['GET /a/../admin HTTP/1.1', 'GET /a/ HTTP/1.1', 'GET /abc?q=1 HTTP/1.1'],
    ...['GET /%61dmin HTTP/1.1', 'GET / HTTP/1.0', `GET /${'a'.repeat(1_100)} HTTP/1.1`],
  ),
  headers: fc
    .tuple(
      fc.constantFrom(
        'a.test',
        'A.TEST',
        'a.test:80',
        'x.b.test',
        'c.test',
        '127.0.0.1',
        'a.test.',
      ),
      fc.constantFrom([], [], ['x-a: 1'], ['x-a:'], ['x-a: 1', 'X-A: 1'], ['X-a: 2']),
      fc.constantFrom([], [], ['x-b: abc'], ['x-b: 1'], ['x-b:']),
      fc.constantFrom([], [], ['x-forwarded-for: 10.1.2.3'], ['x-forwarded-for: 127.0.0.1']),
    )
    .map(([host, a, b, from]) => [`host: ${host}`, ...a, ...b, ...from]),
  claims: fc.option(
    fc.record(
      { sub: json, n: json, flag: json, roles: json, realm: json, 'a.b': json },
      { requiredKeys: [] },
    ),
    { nil: undefined, freq: 4 },
  ),
  token: seldom('valid', fc.constantFrom('expired' as const, 'forged' as const)),
  key: fc.constantFrom(undefined, undefined, 'good', 'bad'),
})
