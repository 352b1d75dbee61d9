import { type Constants, constantsOf } from './constants.ts'
import type { CertificateName } from './credentials.ts'
import { isTree, type Json, type Tree } from './document.ts'
import { API_KEY } from './generate.ts'
import { toolRequest } from './mcp-documents.ts'
import { modelRequest } from './model-documents.ts'
import { nearAddress, nearHost, nearPath, nearText, objectText } from './neighbours.ts'
import { gatewayAt } from './places.ts'
import { Random } from './random.ts'
import { sharesIn } from './shares.ts'
import type { Probe, Request, Transport } from './wire.ts'

/** Requests that are relevant to these files. */
export function probesFor(random: Random, trees: readonly Tree[], count: number): Probe[] {
  const constants = constantsOf(trees)
  const text = JSON.stringify(trees)
  const ways = transportsFor(random, trees, constants)
  const probes: Probe[] = []
  const other = new Random(text.length + count)
  const shares = [...new Set(trees.flatMap((tree) => sharesIn(tree).map(({ host }) => host)))]
  for (let i = 0; i < count; i++) {
    const transport = i < ways.length ? (ways[i] as Transport) : random.pick(ways)
    const request = requestFor(random, trees, constants, text, i)
    const share = shares[i % Math.max(1, shares.length)]
    const sent = decorated(random, request, constants, text)
    const probe = {
      transport,
      request: text.includes('"mcp":{') ? messageFor(random, sent, trees) : sent,
      ...(share === undefined ? {} : { share }),
    }
    probes.push(spoken(other, mistakable(other, probe), trees))
  }
  return probes
}

interface Port {
  readonly port: number
  readonly isSecure: boolean
  readonly asksCertificates: boolean
}

/** Every port on which a file listens, plain or TLS. */
export function portsOf(tree: Tree): readonly Port[] {
  const found = new Map<number, Port>()
  for (const gateway of Object.values((tree['gateways'] ?? {}) as Tree)) {
    if (!isTree(gateway)) continue
    const listeners = (gateway['listeners'] ?? [gateway]) as readonly Tree[]
    const tls = [gateway, ...listeners].map((one) => one['tls']).filter(isTree)
    const port = gateway['port'] as number
    found.set(port, {
      port,
      isSecure: tls.length > 0 || gateway['protocol'] === 'TLS',
      asksCertificates: tls.some((one) => one['root'] !== undefined),
    })
  }
  return [...found.values()]
}

/** The PROXY protocol that a file accepts, on all its ports. */
function proxyOf(tree: Tree): Tree | undefined {
  const own = (tree['frontendPolicies'] as Tree | undefined)?.['proxyProtocol']
  return isTree(own) ? own : undefined
}

const MAX_WAYS = 8
/** Handshakes take most of the time. */
const MAX_SECURE = 4

function transportsFor(random: Random, trees: readonly Tree[], constants: Constants): Transport[] {
  const all: Transport[] = []
  for (const tree of trees) {
    const isProxied = proxyOf(tree) !== undefined
    const proxies: (Transport['proxy'] | undefined)[] = [undefined]
    if (isProxied) {
      proxies.length = 0
      const pool = constants.addresses.length === 0 ? ['10.0.0.1'] : constants.addresses
      for (let i = 0; i < 6; i++) {
        const version = random.chance(0.5) ? 1 : 2
        proxies.push({ version, address: nearAddress(random, random.pick(pool)) })
      }
      if (random.chance(0.7)) proxies.push(undefined)
    }
    for (const { port, isSecure, asksCertificates } of portsOf(tree)) {
      for (const proxy of random.some(proxies, 4)) {
        const way = { port, ...(proxy === undefined ? {} : { proxy }) }
        if (!isSecure) {
          all.push(way)
          continue
        }
        if (random.chance(0.3)) all.push(way)
        const certificates: (CertificateName | undefined)[] = asksCertificates
          ? ['alice', random.pick(['bob', 'plain', 'stranger'] as const), undefined]
          : [undefined]
        for (const certificate of certificates) {
          const sni = random.chance(0.1) ? undefined : random.pick(constants.serverNames)
          all.push({ ...way, tls: { sni, ...(certificate === undefined ? {} : { certificate }) } })
        }
      }
    }
  }
  const unique = [...new Map(all.map((one) => [JSON.stringify(one), one])).values()]
  const secure = random.some(
    unique.filter((one) => one.tls !== undefined),
    MAX_SECURE,
  )
  const plain = unique.filter((one) => one.tls === undefined)
  return [...secure, ...random.some(plain, MAX_WAYS - secure.length)]
}

function requestFor(
  random: Random,
  trees: readonly Tree[],
  constants: Constants,
  text: string,
  index: number,
): Request {
  const tree = random.pick(trees)
  const route = random.pick((tree['routes'] ?? []) as readonly Tree[])
  const [match] = random.some((route?.['matches'] ?? []) as readonly Tree[], 1)
  // The first ones are as plain as possible, so that every route is reached.
  const isPlain = index % 4 === 0
  const hosts = ((route?.['hostnames'] ?? []) as readonly string[]).map((one) =>
    one.replace('*', 'w'),
  )
  const own =
    hosts.length > 0 && random.chance(0.75) ? random.pick(hosts) : random.pick(constants.hosts)
  const host = isPlain ? own : nearHost(random, own)
  const { regex: _, ...fixed } = (match?.['path'] ?? {}) as Tree
  const written = Object.values(fixed)[0] as string | undefined
  const path = written !== undefined && random.chance(0.5) ? written : random.pick(constants.paths)
  const target = isPlain ? (path.startsWith('/') ? path : '/') : nearPath(random, path)
  const wantedQuery = match?.['query'] === undefined ? random.pick(constants.queries) : 'q=1'
  const query = random.chance(0.7) && match?.['query'] === undefined ? '' : wantedQuery
  const method = (match?.['method'] as string | undefined) ?? random.pick(constants.methods)
  return {
    // Includes a method that no file names, and one that resembles a PROXY header.
    method: random.chance(0.9) ? method : random.pick(['GET', 'PURGE', 'PROXY']),
    target: `${target}${query === '' ? '' : `?${query}`}`.replaceAll(' ', '%20'),
    version: host === undefined ? '1.0' : '1.1',
    host: host?.includes(' ') ? 'other.test' : host,
    headers: headersFor(random, constants, match),
    ...identityFor(random, constants, text),
  }
}

/** Occasionally adds a header that backends may mistake for one that rules read. */
function mistakable(random: Random, probe: Probe): Probe {
  if (!random.chance(0.04)) return probe
  const { request } = probe
  const name = random.pick(['x_a', 'x_b', 'x_c', 'X_A'])
  return { ...probe, request: { ...request, headers: [...request.headers, [name, '1']] } }
}

/**
 * The set of headers that rules read decides about such a request, so statements about one rule or
 * one route do not apply to it.
 */
export function isMistakable({ request }: Probe): boolean {
  return request.headers.some(([name]) => name.includes('_'))
}

/** Occasionally uses HTTP/2, and occasionally requests a tunnel. */
function spoken(random: Random, probe: Probe, trees: readonly Tree[]): Probe {
  const { transport, request, ...rest } = probe
  if (trees.some((tree) => gatewayAt(tree, transport.port) === 'stream')) return probe
  if (JSON.stringify(trees).includes('"mcp":{')) return probe
  if (random.chance(0.02) && request.host !== undefined) {
    const target = 'a.test:443'
    return { ...rest, transport, request: { ...request, method: 'CONNECT', target, host: target } }
  }
  const isFit = request.version === '1.1' && request.method !== 'CONNECT'
  if (!isFit || !random.chance(0.08)) return probe
  return { ...rest, transport: { ...transport, isHttp2: true }, request }
}

/** Adds the attributes that the features of these files read. */
function decorated(
  random: Random,
  request: Request,
  { addresses }: Constants,
  text: string,
): Request {
  const headers = [...request.headers]
  let { method } = request
  if (/"cors"|"csrf"/.test(text) && random.chance(0.6)) {
    const site = `http://${request.host ?? ''}`
    headers.push(['origin', random.pick(['https://a.test', 'https://b.test', 'null', site])])
    if (random.chance(0.3)) {
      headers.push(['sec-fetch-site', random.pick(['same-origin', 'cross-site', 'none'])])
    }
    if (random.chance(0.3)) {
      method = 'OPTIONS'
      headers.push(['access-control-request-method', 'PUT'])
    }
  }
  if (text.includes('"trustedHops"') && random.chance(0.85)) {
    const pool = addresses.length === 0 ? ['10.0.0.1'] : addresses
    const list = Array.from({ length: 1 + random.int(3) }, () =>
      nearAddress(random, random.pick(pool)),
    )
    headers.push(['x-forwarded-for', list.join(', ')])
  }
  if (text.includes('"basicAuth"') && request.claims === undefined && random.chance(0.7)) {
    headers.push(['authorization', `Basic ${btoa(random.pick(PASSWORDS))}`])
  }
  const body = /\.body\b/.test(text) && random.chance(0.7) ? random.pick(BODIES) : undefined
  const own = { ...request, method, headers, ...(body === undefined ? {} : { body }) }
  if (text.includes('"llm":{') || text.includes('"name":"p0","provider"')) {
    return random.chance(0.85) ? { ...own, ...calling(random, own) } : own
  }
  return text.includes('"ai":') && random.chance(0.35) ? modelCall(random, own) : own
}

/** The same client sends a message to a server of tools. */
function messageFor(random: Random, request: Request, trees: readonly Tree[]): Request {
  const host = request.host === 'plain.test' ? request.host : 'localhost'
  // Streams of events do not end.
  if (random.chance(0.04)) return { ...request, method: random.pick(['PUT', 'DELETE']), host }
  return { ...request, ...toolRequest(random, trees), version: '1.1', host }
}

/** The same client calls a model, in one of the APIs. */
function calling(random: Random, { host }: Request): Partial<Request> {
  const request = modelRequest(random)
  return { ...request, version: '1.1', host: host ?? 'other.test' }
}

/** The same client calls a model. */
function modelCall(random: Random, { headers, ...rest }: Request): Request {
  const target = random.pick(['/v1/chat/completions', '/v1/models'])
  const isRead = target === '/v1/models'
  const { body: _, ...bare } = rest
  return {
    ...bare,
    method: isRead ? 'GET' : 'POST',
    target,
    headers: isRead ? headers : [...headers, ['content-type', 'application/json']],
    ...(isRead ? {} : { body: random.pick(CALLS) }),
  }
}

const CALLS = [
  '{"model":"a","messages":[{"role":"user","content":"x"}],"max_tokens":1}',
  '{"model":"b","messages":[{"role":"user","content":"x"}],"max_tokens":1}',
]

const BODIES = [
  ...['x', 'xy', 'y', '', '{"model":"a"}', '{"model":"b"}', '{"model":1}', '{"x":"a"}'],
  // Bodies that are ambiguous, and one that may be too long.
  ...['{"model":"a","model":"b"}', '\xff', 'x'.repeat(40)],
]

const PASSWORDS = ['bob:s3cret', 'alice:s3cret', 'bob:s3cret', 'bob:wrong', 'eve:s3cret']

function headersFor(random: Random, constants: Constants, match: Tree | undefined) {
  const headers: [string, string][] = []
  const wanted = new Map<string, string>()
  for (const one of (match?.['headers'] ?? []) as readonly Tree[]) {
    const { exact } = one['value'] as { exact?: string }
    if (exact !== undefined) wanted.set(one['name'] as string, exact)
  }
  for (const [name, values] of constants.headers) {
    if (name === 'host') continue
    const own = wanted.get(name)
    if (own !== undefined && random.chance(0.7)) {
      headers.push([name, own])
      continue
    }
    if (random.chance(0.35)) continue
    const value = nearText(random, random.pick(values)).replaceAll(/[^\x20-\x7e]/g, '')
    headers.push([random.chance(0.1) ? name.toUpperCase() : name, value])
    if (random.chance(0.06)) headers.push([name, random.pick(values)])
  }
  return headers
}

/** Adds tokens if a policy verifies them, and occasionally if none does. */
function identityFor(random: Random, constants: Constants, text: string): Partial<Request> {
  const apiKey = text.includes('"apiKey":{') && random.chance(0.6) ? API_KEY : undefined
  const key = apiKey === undefined ? {} : { apiKey: random.chance(0.9) ? apiKey : 'wrong' }
  if (!text.includes('jwtAuthentication') && !random.chance(0.05)) return key
  if (random.chance(0.25)) return key
  const claims = objectText(random, constants.claims, 0)
  const token = random.chance(0.92) ? 'valid' : random.pick(['forged', 'expired'] as const)
  const issuer = random.chance(0.1) ? withIssuer(claims) : claims
  return { ...key, claims: issuer, ...(token === 'valid' ? {} : { token }) }
}

function withIssuer(claims: string): string {
  const inner = claims.slice(1, -1)
  return `{"iss":"https://j.test"${inner === '' ? '' : `,${inner}`}}`
}

/** A readable form for reports. */
export function describeProbe({ transport, request, share }: Probe): Json {
  return JSON.parse(JSON.stringify({ ...transport, ...request, share }))
}
