import type { Json, Tree } from './document.ts'
import { expression, FOCUSES, HOSTS, PATHS, type Scope } from './expressions.ts'
import type { Random } from './random.ts'

/** The environment of a file: free ports, running backends, and files beside it. */
export interface Place {
  readonly ports: readonly number[]
  readonly backends: readonly number[]
}

/** The `config` of every file: one process, no other listeners, every decision recorded. */
export function settings(show: readonly string[]): Tree {
  return {
    workers: 1,
    enableIpv6: false,
    adminAddr: 'off',
    statsAddr: 'off',
    readinessAddr: 'off',
    limits: { delay: '0s' },
    decisions: { allowed: 1, keep: 10, show },
  }
}

/** Recorded for every file: replaying requires these attributes. */
export const SHOWN = [
  'jwt',
  'apiKey',
  'source',
  ...['x-a', 'x-b', 'X-A', 'host', 'accept'].map((name) => `request.headers['${name}']`),
]

export const ISSUERS = ['https://i.test', 'https://j.test']
/** printf %s robot-key | sha256sum */
const KEY_HASH = 'sha256:b2cfb5518f033861ee2dd12be0f7c0b95c23d0b8d1f4c32c8a788f77bc8a52be'
export const API_KEY = 'robot-key'

interface Making {
  readonly random: Random
  readonly place: Place
  /** The settings for the conditions of the whole file. */
  readonly scope: Omit<Scope, 'stage'>
  next: number
}

export function makeDocument(random: Random, place: Place): Tree {
  if (random.chance(0.5)) return makeSmallDocument(random, place)
  const hasTls = random.chance(0.25)
  const hasStream = random.chance(0.1)
  const isProxied = random.chance(0.3)
  const making: Making = {
    random,
    place,
    scope: {
      hasJwt: random.chance(0.6),
      hasApiKey: random.chance(0.1),
      hasCertificates: hasTls && random.chance(0.7),
      hasServerName: false,
      hasSources: isProxied,
    },
    next: 0,
  }
  const gateways: Record<string, Json> = { default: plainGateway(making) }
  if (hasTls) gateways['edge'] = secureGateway(making)
  if (hasStream) gateways['stream'] = streamGateway(making)
  if (hasTls && random.chance(0.5)) delete gateways['default']
  const names = Object.keys(gateways).filter((name) => name !== 'stream')
  const count = 1 + random.int(3)
  const routes = Array.from({ length: count }, (_, index) => route(making, index, names))
  const backends = namedBackends(making, routes)
  const policies = attached(making, routes, gateways, backends)
  return {
    config: settings(random.chance(0.6) ? SHOWN : []),
    ...frontend(making, isProxied),
    gateways,
    routes,
    ...(hasStream ? { tcpRoutes: [streamRoute(making)] } : {}),
    ...(backends.length === 0 ? {} : { backends }),
    ...(policies.length === 0 ? {} : { policies }),
  }
}

/**
 * One listener, and few rules on one topic: many statements are proven here, and many can be wrong.
 */
function makeSmallDocument(random: Random, place: Place): Tree {
  const focus = random.pick(FOCUSES)
  const hasJwt = ['number', 'nested', 'groups', 'claim'].includes(focus) || random.chance(0.2)
  const scope = {
    hasJwt,
    hasApiKey: false,
    hasCertificates: false,
    hasServerName: false,
    hasSources: false,
    focus,
  }
  const making: Making = { random, place, scope, next: 0 }
  const outer = random.chance(0.25) ? traffic(making, 0.7) : {}
  const count = random.chance(0.6) ? 1 : 2
  const routes = Array.from({ length: count }, (_, index): Tree => {
    const policies = traffic(making, 0.85)
    const own: Record<string, Json> = { name: `r${index}` }
    if (random.chance(count === 1 ? 0.15 : 0.7)) own['hostnames'] = [HOSTS[index] as string]
    if (random.chance(0.25)) own['matches'] = [match(random)]
    if (Object.keys(policies).length > 0) own['policies'] = policies
    own['backends'] = [{ host: nextBackend(making) }]
    return own
  })
  return {
    config: settings(random.chance(0.6) ? SHOWN : []),
    gateways: { default: { port: place.ports[0] as number, ...outer } },
    routes,
  }
}

/** A listener for connections that are no requests. */
export function makeStreamDocument(random: Random, place: Place): Tree {
  const scope = {
    hasJwt: false,
    hasApiKey: false,
    hasCertificates: random.chance(0.2),
    hasServerName: false,
    hasSources: random.chance(0.5),
  }
  const making: Making = { random, place, scope, next: 0 }
  const gateway = streamGateway(making)
  const isNamed = gateway['protocol'] === 'TLS' && random.chance(0.2)
  return {
    config: settings([]),
    ...frontend(making, random.chance(0.4)),
    gateways: { stream: isNamed ? { ...gateway, hostname: random.pick(HOSTS) } : gateway },
    routes: [],
    tcpRoutes: [streamRoute(making)],
  }
}

function frontend(making: Making, isProxied: boolean): Tree {
  const { random } = making
  const own: Record<string, Json> = {}
  if (isProxied) own['proxyProtocol'] = proxyProtocol(random)
  if (random.chance(isProxied ? 0.35 : 0.1)) own['networkAuthorization'] = network(making)
  return Object.keys(own).length === 0 ? {} : { frontendPolicies: own }
}

export function proxyProtocol(random: Random): Tree {
  return {
    mode: random.pick(['Strict', 'Strict', 'Optional']),
    version: random.pick(['All', 'All', 'V1', 'V2']),
  }
}

export function network(making: Making, hasServerName = false): Tree {
  const scope = { ...making.scope, hasServerName, stage: 'connection' } as const
  return block(making.random, scope)
}

/** Rules in either form. */
function block(random: Random, scope: Scope): Tree {
  const mode: Tree = random.chance(0.04) ? { mode: 'Audit' } : {}
  const count = 1 + random.int(3)
  if (random.chance(0.2)) {
    const matchExpressions = Array.from({ length: count }, () => expression(random, scope))
    const action = random.pick(['Allow', 'Require', 'Deny'])
    return { ...mode, action, policy: { matchExpressions } }
  }
  const rules = Array.from({ length: count }, () => rule(random, scope))
  return { ...mode, rules }
}

export function rule(random: Random, scope: Scope): Tree {
  const action = random.pick(['allow', 'allow', 'require', 'deny', 'deny'])
  return { [action]: expression(random, scope) }
}

/** Authentication and rules of one level. */
function traffic(making: Making, share: number): Record<string, Json> {
  const { random, scope } = making
  const own: Record<string, Json> = {}
  if (scope.hasJwt && random.chance(share)) own['jwtAuthentication'] = jwt(random)
  if (scope.hasApiKey && random.chance(share)) own['apiKey'] = apiKey(random)
  if (random.chance(share)) own['authorization'] = block(random, { ...scope, stage: 'traffic' })
  return own
}

export function jwt(random: Random): Tree {
  const mode = random.pick(['Strict', 'Optional', 'Optional', 'Permissive', undefined])
  const jwks = { file: 'keys.json' }
  const issuer = random.chance(0.85) ? (ISSUERS[0] as string) : (ISSUERS[1] as string)
  const own = random.chance(0.9)
    ? { issuer, jwks }
    : { providers: ISSUERS.map((one) => ({ issuer: one, jwks })) }
  return mode === undefined ? own : { mode, ...own }
}

function apiKey(random: Random): Tree {
  return {
    ...(random.chance(0.5) ? { mode: 'Optional' } : {}),
    location: { header: { name: 'x-api-key' } },
    keys: [{ keyHash: KEY_HASH, metadata: { user: random.pick(['robot', 'alice']) } }],
  }
}

function plainGateway(making: Making): Tree {
  const { random, place } = making
  const port = place.ports[0] as number
  const several = random.chance(0.35)
  const listeners = ['l0', 'l1'].map((name, index) => ({
    name,
    hostname: HOSTS[index] as string,
    ...traffic(making, 0.3),
  }))
  if (several && random.chance(0.3)) {
    const { hostname: _, ...open } = listeners[1] as Tree & { hostname: string }
    listeners[1] = open as (typeof listeners)[number]
  }
  return {
    port,
    ...(several
      ? { listeners }
      : random.chance(0.15)
        ? { hostname: random.pick(['a.test', '*.test', '*.a.test']) }
        : {}),
    ...traffic(making, 0.25),
    ...gatewayFrontend(making),
  }
}

function gatewayFrontend(making: Making): Tree {
  const { random } = making
  if (!random.chance(0.12)) return {}
  return { frontendPolicies: { networkAuthorization: network(making) } }
}

export function tls(random: Random, hasCertificates: boolean): Tree {
  const clients = hasCertificates
    ? { root: 'ca.pem', ...(random.chance(0.4) ? { clientCertificates: 'Optional' } : {}) }
    : {}
  return { cert: 'server.pem', key: 'server.key', ...clients }
}

function secureGateway(making: Making): Tree {
  const { random, place, scope } = making
  const port = place.ports[1] as number
  const secured = () => ({ tls: tls(random, scope.hasCertificates) })
  if (random.chance(0.3)) {
    const listeners = ['s0', 's1'].map((name, index) => ({
      name,
      protocol: 'HTTPS',
      hostname: HOSTS[index] as string,
      ...secured(),
      ...traffic(making, 0.2),
    }))
    return { port, listeners, ...traffic(making, 0.2), ...gatewayFrontend(making) }
  }
  return { port, ...secured(), ...traffic(making, 0.3), ...gatewayFrontend(making) }
}

function streamGateway(making: Making): Tree {
  const { random, place, scope } = making
  const port = place.ports[2] as number
  const isSecure = random.chance(0.6)
  const rules = random.chance(0.8)
    ? { frontendPolicies: { networkAuthorization: network(making, isSecure) } }
    : {}
  if (!isSecure) return { port, protocol: 'TCP', ...rules }
  return { port, protocol: 'TLS', tls: tls(random, scope.hasCertificates), ...rules }
}

function streamRoute(making: Making): Tree {
  return { name: 't0', gateways: ['stream'], backends: [{ host: nextBackend(making) }] }
}

function nextBackend(making: Making): string {
  const { backends } = making.place
  return `127.0.0.1:${backends[making.next++ % backends.length]}`
}

function route(making: Making, index: number, gateways: readonly string[]): Tree {
  const { random, scope } = making
  const own: Record<string, Json> = { name: `r${index}` }
  if (gateways.length > 1 || gateways[0] !== 'default') own['gateways'] = [...gateways]
  if (random.chance(0.4)) own['hostnames'] = random.some([...HOSTS, '*.test'], 1 + random.int(2))
  if (random.chance(0.55)) {
    own['matches'] = Array.from({ length: random.chance(0.8) ? 1 : 2 }, () => match(random))
  }
  const policies = traffic(making, 0.5)
  if (random.chance(0.06)) {
    own['policies'] = { ...policies, directResponse: { status: 200, body: `direct r${index}` } }
    return own
  }
  if (Object.keys(policies).length > 0) own['policies'] = policies
  const rules = random.chance(0.12)
    ? { policies: { authorization: block(random, { ...scope, stage: 'backend' }) } }
    : {}
  own['backends'] = [{ host: nextBackend(making), ...rules }]
  return own
}

const PATTERNS = ['/a', '/a.*', '/a(/.*)?', '/(a|b)', '/.*', '/[a-z]+/x', '/admin.*', '(?i)/A']

export function match(random: Random): Tree {
  const own: Record<string, Json> = {}
  if (random.chance(0.75)) {
    const path = random.pick(PATHS)
    const kind = random.pick(['exact', 'pathPrefix', 'pathPrefix'])
    own['path'] = random.chance(0.05)
      ? { regex: random.pick(PATTERNS) }
      : { [kind]: kind === 'pathPrefix' && path !== '/' ? path.replace(/\/$/, '') : path }
  }
  if (random.chance(0.15)) own['method'] = random.pick(['GET', 'POST'])
  if (random.chance(0.15)) {
    const value = random.chance(0.2)
      ? { regex: random.pick(['[0-9]', '1|2', '.*', '(?i)GOLD']) }
      : { exact: random.pick(['1', '2']) }
    own['headers'] = [{ name: random.pick(['x-a', 'x-b', 'x-a', 'X-B']), value }]
  }
  if (random.chance(0.06)) {
    const value = random.chance(0.3) ? { regex: '[0-9]+' } : { exact: '1' }
    own['query'] = [{ name: 'q', value }]
  }
  return Object.keys(own).length === 0 ? { path: { pathPrefix: '/' } } : own
}

/** Some routes reference a backend by name. */
function namedBackends(making: Making, routes: Tree[]): Tree[] {
  const { random, scope } = making
  const found: Tree[] = []
  for (const [index, one] of routes.entries()) {
    const [target] = (one['backends'] ?? []) as readonly Tree[]
    if (target === undefined || !random.chance(0.2)) continue
    const name = `b${found.length}`
    const rules = random.chance(0.5)
      ? { policies: { authorization: block(random, { ...scope, stage: 'backend' }) } }
      : {}
    found.push({ name, host: target['host'] as string, ...rules })
    const { host: _, ...rest } = target
    routes[index] = { ...one, backends: [{ backend: name, ...rest }] }
  }
  if (random.chance(0.04)) {
    const policies = { authorization: block(random, { ...scope, stage: 'backend' }) }
    found.push({ name: 'spare', host: nextBackend(making), policies })
  }
  return found
}

function attached(
  making: Making,
  routes: readonly Tree[],
  gateways: Readonly<Record<string, Json>>,
  backends: readonly Tree[],
): Tree[] {
  const { random, scope } = making
  const found: Tree[] = []
  const count = random.chance(0.3) ? 1 + random.int(2) : 0
  for (let i = 0; i < count; i++) {
    const name = `p${i}`
    const [gateway] = random.some(
      Object.keys(gateways).filter((one) => one !== 'stream'),
      1,
    )
    const backend = random.chance(0.3) ? backends[0] : undefined
    const listener = ((gateways[gateway ?? ''] as Tree)?.['listeners'] as readonly Tree[])?.[0]
    if (backend !== undefined) {
      const rules = { authorization: block(random, { ...scope, stage: 'backend' }) }
      found.push({ name, target: { backend: backend['name'] as string }, backend: rules })
      continue
    }
    const own = traffic(making, 0.8)
    if (Object.keys(own).length === 0) continue
    const target = random.chance(0.6)
      ? { route: random.pick(routes)['name'] as string }
      : listener !== undefined && random.chance(0.5)
        ? { gateway: { gatewayName: gateway as string, listenerName: listener['name'] as string } }
        : { gateway: gateway as string }
    found.push({ name, target, traffic: own })
  }
  return found
}
