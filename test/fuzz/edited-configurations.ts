// Configurations under edit: many small items, one of which changes at a time.

import type { Json, Tree } from '../truth/document.ts'
import { jwt } from '../truth/generate.ts'
import type { Random } from '../truth/random.ts'

type Fields = Record<string, Json>

interface Edited {
  gateways: Record<string, Fields>
  frontend: Fields
  routes: Fields[]
  backends: Fields[]
  policies: Fields[]
  /** Numbers of comment lines before the document and before each list. */
  comments: number
  gaps: number
  /** Its routes have no hostnames, so they all share one table. */
  readonly isOfOneHost: boolean
}

/** Yields a configuration, then as many edited versions of it as the caller requests. */
export function* editedConfigurations(random: Random): Generator<string, never> {
  const edited = begin(random)
  for (;;) {
    yield textOf(edited)
    for (let left = random.chance(0.8) ? 1 : 3; left > 0; left--) random.pick(EDITS)(random, edited)
  }
}

function begin(random: Random): Edited {
  const isOfOneHost = random.chance(0.4)
  const count = 3 + random.int(isOfOneHost ? 20 : 5)
  const routes = Array.from({ length: count }, (_, n) => route(random, `r${n}`, isOfOneHost))
  return {
    gateways: { one: gateway(random, 4101), two: gateway(random, 4102) },
    frontend: {},
    routes,
    backends: NAMES.map((name) => backend(random, name)),
    policies: [named(random, 'p0')],
    comments: 0,
    gaps: 0,
    isOfOneHost,
  }
}

const NAMES = ['b0', 'b1', 'b2', 'b3']

type Edit = (random: Random, edited: Edited) => void

const EDITS: readonly Edit[] = [
  (random, { routes, isOfOneHost }) => {
    const made = route(random, nameIn(random, routes), isOfOneHost)
    if (routes.length > 0) routes[random.int(routes.length)] = made
  },
  (random, { routes }) => {
    const chosen = random.pick(routes)
    if (chosen !== undefined) chosen['policies'] = policies(random)
  },
  (random, { routes, isOfOneHost }) => {
    const chosen = random.pick(routes)
    if (chosen !== undefined && !isOfOneHost) chosen['hostnames'] = hostnames(random)
  },
  (random, { routes, isOfOneHost }) => {
    const made = route(random, `n${random.int(1000)}`, isOfOneHost)
    routes.splice(random.int(routes.length + 1), 0, made)
  },
  (random, { routes }) => void routes.splice(random.int(routes.length), 1),
  (random, { routes }) => {
    const [moved] = routes.splice(random.int(routes.length), 1)
    if (moved !== undefined) routes.splice(random.int(routes.length + 1), 0, moved)
  },
  (random, { backends }) => {
    const index = random.int(backends.length)
    const { name } = backends[index] ?? { name: 'b0' }
    backends[index] = backend(random, String(name))
  },
  (random, { backends }) => {
    if (backends.length === NAMES.length) backends.splice(random.int(backends.length), 1)
    else {
      const missing = NAMES.filter((name) => !backends.some((own) => own['name'] === name))
      backends.push(backend(random, random.pick(missing)))
    }
  },
  (random, { gateways }) => {
    const name = random.pick(['one', 'two'])
    gateways[name] = gateway(random, name === 'one' ? 4101 : 4102)
  },
  (random, edited) => {
    edited.frontend = random.chance(0.5)
      ? {}
      : { networkAuthorization: { rules: [{ deny: `source.port == ${random.int(3)}` }] } }
  },
  (random, edited) => {
    edited.policies = Array.from({ length: random.int(3) }, (_, n) => named(random, `p${n}`))
  },
  (random, edited) => {
    edited.comments = random.int(3)
  },
  (random, edited) => {
    edited.gaps = random.int(3)
  },
]

function nameIn(random: Random, routes: readonly Fields[]): string {
  return String(routes[random.int(routes.length)]?.['name'] ?? 'r0')
}

function gateway(random: Random, port: number): Fields {
  const own = random.chance(0.6) ? { port } : { port, hostname: '*.test' }
  if (random.chance(0.3)) {
    const listeners = ['a.test', '*.b.test'].map((hostname, n) => ({
      name: `l${n}`,
      hostname,
      ...(random.chance(0.4) ? { policies: policies(random) } : {}),
    }))
    return { port, listeners, ...policies(random, 0.2) }
  }
  return { ...own, ...policies(random, 0.25) }
}

function hostnames(random: Random): string[] {
  return random.some(['a.test', '*.test', '*.b.test', 'x.b.test'], random.int(3))
}

function route(random: Random, name: string, isOfOneHost: boolean): Fields {
  const own: Fields = { name, gateways: random.some(['one', 'two'], 1 + random.int(2)) }
  const hosts = isOfOneHost ? [] : hostnames(random)
  if (hosts.length > 0) own['hostnames'] = hosts
  own['matches'] = Array.from({ length: 1 + random.int(2) }, () => match(random))
  own['policies'] = policies(random)
  if (random.chance(0.1)) own['policies'] = { directResponse: { status: 200, body: name } }
  else own['backends'] = Array.from({ length: random.chance(0.8) ? 1 : 2 }, () => ref(random))
  return own
}

function ref(random: Random): Tree {
  const target = random.chance(0.7)
    ? { backend: random.pick(NAMES) }
    : { host: `127.0.0.1:${5000 + random.int(4)}` }
  return random.chance(0.15) ? { ...target, policies: { authorization: rules(random) } } : target
}

function match(random: Random): Tree {
  const path = random.pick(['/', '/a', '/a/b', '/a/b/c', '/x'])
  const kind = random.pick(['pathPrefix', 'pathPrefix', 'pathPrefix', 'exact', 'regex'])
  const own: Fields = { path: { [kind]: kind === 'regex' ? `${path}.*` : path } }
  if (random.chance(0.15)) own['method'] = random.pick(['GET', 'POST'])
  if (random.chance(0.2)) {
    own['headers'] = [{ name: random.pick(['x-a', 'x-b']), value: { exact: '1' } }]
  }
  return own
}

function policies(random: Random, share = 0.3): Fields {
  const own: Fields = {}
  if (random.chance(share * 2)) own['authorization'] = rules(random)
  if (random.chance(share / 2)) own['jwtAuthentication'] = { ...jwt(random), mode: 'Optional' }
  if (random.chance(share)) {
    own['requestHeaders'] = { set: { 'x-set': `'${random.pick(['1', '2', '3'])}'` } }
  }
  if (random.chance(share / 2)) {
    own['localRateLimit'] = [
      { maxTokens: 10 + random.int(3), tokensPerFill: 1, fillInterval: '1s' },
    ]
  }
  if (random.chance(share / 2)) {
    own['extAuthz'] = { backend: random.pick(NAMES), protocol: { http: {} } }
  }
  if (random.chance(share / 2)) own['timeout'] = { request: `${1 + random.int(3)}s` }
  if (random.chance(share / 3))
    own['requestMirror'] = { backend: { backend: random.pick(NAMES) }, percentage: 0.5 }
  return own
}

/** A placeholder for an expression with an error, for files that must not contain one. */
export const BROKEN = "request.method == 'BROKEN'"

/** Some of them have an error. */
const EXPRESSIONS = [
  BROKEN,
  "request.headers['x-a'] == '1'",
  "request.headers['x-b'] == '1'",
  "request.path.startsWith('/a')",
  "request.method == 'GET'",
  "jwt.sub == 'alice'",
  "proxy.route == 'r1'",
  'request.body.size() > 3',
  "source.address == 'no address'",
  'request.nothing == 1',
  'not an expression',
]

function rules(random: Random): Tree {
  const count = 1 + random.int(2)
  return {
    rules: Array.from({ length: count }, () => ({
      [random.pick(['allow', 'deny', 'require'])]: random.pick(EXPRESSIONS),
    })),
  }
}

function backend(random: Random, name: string): Fields {
  const own: Fields = { name, host: `127.0.0.1:${5000 + random.int(4)}` }
  const inner: Fields = {}
  if (random.chance(0.25)) inner['authorization'] = rules(random)
  if (random.chance(0.25)) inner['http'] = { requestTimeout: `${1 + random.int(3)}s` }
  if (random.chance(0.15)) inner['backendTLS'] = { hostname: random.pick(['x.test', 'y.test']) }
  if (random.chance(0.15)) {
    inner['extAuthz'] = { backend: random.pick(NAMES), protocol: { http: {} } }
  }
  return Object.keys(inner).length === 0 ? own : { ...own, policies: inner }
}

/** A policy that is attached to several targets. */
function named(random: Random, name: string): Fields {
  const routes = ['r0', 'r1', 'r2'].map((route) => ({ route }))
  const target = random.pick<Tree>([
    { gateway: { gatewayName: 'one' } },
    ...routes.map((own) => own as Tree),
  ])
  return { name, target, policy: policies(random, 0.5) }
}

function textOf(edited: Edited): string {
  const { gateways, frontend, routes, backends, policies, comments, gaps } = edited
  const config = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off' }
  const own = Object.keys(frontend).length === 0 ? {} : { frontendPolicies: frontend }
  const lines = Object.entries({ config, ...own, gateways, routes, backends, policies }).map(
    ([key, value]) => {
      if (!Array.isArray(value)) return `${key}: ${JSON.stringify(value)}`
      return `${'# a comment\n'.repeat(gaps)}${key}:\n${value.map((item) => `  - ${JSON.stringify(item)}\n`).join('')}`
    },
  )
  // Moves everything below it without any other change.
  return `${'# a comment\n'.repeat(comments)}${lines.join('\n')}\n`
}
