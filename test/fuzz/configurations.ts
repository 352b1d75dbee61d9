import fc from 'fast-check'
import { narrowedTests } from './string-tests.ts'

/** Typical configuration files as plain data, and the small changes that users make to them. */

const TEXTS = ["'a'", "'ab'", "'b'", "'x'", "''"]
const text = fc.constantFrom(...TEXTS)
const number = fc.constantFrom('1', '2', '2.5', '0.5', '0.9', '10')
const path = fc.constantFrom('/', '/a', '/a/b', '/b', '/admin', '/a/')
const host = fc.constantFrom('a.test', 'b.test', '*.test', 'c.b.test', '*.b.test')
const claim = fc.constantFrom('jwt.sub', 'jwt.o.x', 'jwt.groups', 'jwt.o')

/** Conditions of forms that the analysis covers. */
const covered = fc.oneof(
  fc.constantFrom("request.method == 'GET'", "request.method in ['GET', 'PUT']"),
  path.map((one) => `request.path == '${one}'`),
  path.map((one) => `request.path.startsWith('${one}')`),
  fc.constantFrom("request.path.endsWith('b')", "request.path.contains('/b')"),
  narrowedTests.map(([wide]) => wide),
  host.map((one) => `request.host == '${one.replace('*.', '')}'`),
  fc.constantFrom("request.host.endsWith('.test')", "request.host == ''"),
  text.map((one) => `request.headers['x'] == ${one}`),
  fc.constantFrom("'x' in request.headers", "request.headers['X'] != 'a'"),
  fc.tuple(claim, text).map(([one, value]) => `${one} == ${value}`),
  fc.tuple(claim, text).map(([one, value]) => `${one} != ${value}`),
  fc.tuple(text, claim).map(([value, one]) => `${value} in ${one}`),
  fc.tuple(claim, number).map(([one, value]) => `${one} >= ${value}`),
  fc.tuple(claim, number).map(([one, value]) => `${one} < ${value}`),
  claim.map((one) => `has(${one})`),
  fc.tuple(claim, text).map(([one, value]) => `${one}.exists(k, k == ${value})`),
  fc
    .constantFrom('10.0.0.0/8', '10.1.0.0/16')
    .map((range) => `cidr('${range}').containsIP(source.address)`),
)
const opaque = fc.constantFrom(
  'size(request.path) > 2',
  "jwt.sub.matches('^a')",
  'jwt.sub == jwt.o.x',
)
const atom = fc.oneof({ weight: 20, arbitrary: covered }, { weight: 1, arbitrary: opaque })
const expression = fc.oneof(
  { weight: 4, arbitrary: atom },
  { weight: 1, arbitrary: atom.map((one) => `!(${one})`) },
  { weight: 2, arbitrary: fc.tuple(atom, atom).map(([a, b]) => `${a} && ${b}`) },
  { weight: 2, arbitrary: fc.tuple(atom, atom).map(([a, b]) => `${a} || ${b}`) },
)
const rule = fc
  .tuple(fc.constantFrom('allow', 'require', 'deny'), expression)
  .map(([action, own]) => ({ [action]: own }))
const rules = fc.array(rule, { minLength: 1, maxLength: 3 })

const TOKEN = { issuer: 'https://issuer.example', jwks: { inline: '{"keys":[]}' } }
const KEYS = { keys: [{ keyHash: `sha256:${'0'.repeat(64)}` }] }
/** Mostly the default. */
const mode = fc.oneof(
  { weight: 6, arbitrary: fc.constant('Strict') },
  { weight: 3, arbitrary: fc.constant('Optional') },
  { weight: 1, arbitrary: fc.constant('Permissive') },
)

const matches = fc.array(
  fc.record(
    {
      path: fc.oneof(
        path.map((one) => ({ pathPrefix: one })),
        path.map((one) => ({ exact: one })),
        fc.constant({ regex: '/a.*' }),
      ),
      method: fc.constantFrom('GET', 'PUT'),
      headers: fc.array(
        fc.record({
          name: fc.constantFrom('x', 'X', 'y'),
          value: fc.constantFrom({ exact: 'a' }, { exact: 'b' }, { regex: 'a|b' }),
        }),
        { maxLength: 2 },
      ),
      query: fc.array(
        fc.record({
          name: fc.constantFrom('q', 'r'),
          value: fc.constantFrom({ exact: 'a' }, { regex: '[ab]' }),
        }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  ),
  { minLength: 1, maxLength: 2 },
)

const policies = fc.record(
  {
    authorization: fc.record({ rules }),
    jwtAuthentication: mode.map((own) => ({ ...TOKEN, mode: own })),
    timeout: fc.constantFrom({ request: '3s' }, { request: '9s' }),
    requestHeaders: fc.constantFrom({ set: { a: 'b' } }, { remove: ['x'] }),
  },
  { requiredKeys: [] },
)
const rarePolicies = fc.record(
  {
    authentication: mode.map((own) => ({ anyOf: [{ apiKey: KEYS }], mode: own })),
    directResponse: fc.constant({ status: 403 }),
    localRateLimit: fc.constant({ requests: 1, unit: 'Hours' }),
  },
  { requiredKeys: [] },
)

const route = fc.record(
  { matches, hostnames: fc.uniqueArray(host, { maxLength: 2 }), policies },
  { requiredKeys: ['policies'] },
)
const listeners = fc.constantFrom(undefined, undefined, [
  { name: 'one', hostname: 'a.test' },
  { name: 'two', hostname: '*.test' },
])

export interface WrittenFile {
  readonly listeners: readonly object[] | undefined
  readonly gateway: Readonly<Record<string, unknown>>
  readonly frontend: Readonly<Record<string, unknown>>
  readonly routes: readonly Readonly<Record<string, unknown>>[]
}

export const writtenFile: fc.Arbitrary<WrittenFile> = fc.record({
  listeners,
  gateway: fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: policies }),
  frontend: fc.constant({}),
  routes: fc
    .array(route, { minLength: 1, maxLength: 4 })
    .map((all) => all.map((one, index) => ({ name: `r${index}`, ...one }))),
})

type Change = (file: WrittenFile) => WrittenFile

/** Changes a field of one route. */
const ofRoute = (own: fc.Arbitrary<Readonly<Record<string, unknown>>>): fc.Arbitrary<Change> =>
  fc.tuple(fc.nat(3), own).map(([at, given]) => (file) => ({
    ...file,
    routes: file.routes.map((one, index) => {
      if (index !== at % file.routes.length) return one
      const policies = { ...(one['policies'] as object), ...(given['policies'] as object) }
      return { ...one, ...given, policies }
    }),
  }))

const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 6,
    arbitrary: ofRoute(rules.map((own) => ({ policies: { authorization: { rules: own } } }))),
  },
  { weight: 2, arbitrary: ofRoute(policies.map((own) => ({ policies: own }))) },
  { weight: 2, arbitrary: ofRoute(fc.record({ matches })) },
  {
    weight: 1,
    arbitrary: ofRoute(fc.record({ hostnames: fc.uniqueArray(host, { maxLength: 2 }) })),
  },
  {
    weight: 1,
    arbitrary: fc.nat(3).map(
      (at): Change =>
        (file) => ({
          ...file,
          routes: file.routes.filter((_, index) => index !== at || file.routes.length === 1),
        }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constant<Change>((file) => ({ ...file, routes: file.routes.toReversed() })),
  },
  {
    weight: 1,
    arbitrary: route.map(
      (own): Change =>
        (file) => ({
          ...file,
          routes: [{ name: 'new', ...own }, ...file.routes],
        }),
    ),
  },
  {
    weight: 1,
    arbitrary: policies.map(
      (gateway): Change =>
        (file) => ({ ...file, gateway }),
    ),
  },
)

/** Rare changes, and changes that the analysis does not cover. */
const rareChange: fc.Arbitrary<Change> = fc.oneof(
  ofRoute(rarePolicies.map((own) => ({ policies: own }))),
  listeners.map(
    (own): Change =>
      (file) => ({ ...file, listeners: own }),
  ),
  fc
    .constantFrom<WrittenFile['frontend']>(
      { proxyProtocol: {} },
      { proxyProtocol: { mode: 'Optional' } },
      { http: { trustedHops: 1 } },
      { http: { maxHeadSize: '1Ki' } },
      {
        networkAuthorization: {
          rules: [{ deny: "cidr('10.1.0.0/16').containsIP(source.address)" }],
        },
      },
    )
    .map(
      (frontend): Change =>
        (file) => ({ ...file, frontend }),
    ),
)

export const usualChanges = fc.array(change, { minLength: 1, maxLength: 2 })
export const anyChanges = fc.array(fc.oneof(change, rareChange), { minLength: 1, maxLength: 3 })

export function changed(file: WrittenFile, changes: readonly Change[]): WrittenFile {
  return changes.reduce((own, one) => one(own), file)
}

/** JSON is valid YAML. */
export function textOf({ listeners: own, gateway, frontend, routes }: WrittenFile): string {
  const listening = own === undefined ? {} : { listeners: own }
  return JSON.stringify({
    gateways: { default: { port: 8080, ...listening, ...gateway } },
    frontendPolicies: frontend,
    routes: routes.map((one) => ({ ...one, backends: [{ host: 'a:80' }] })),
  })
}
