import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import type { AiProvider, Backend, McpBackend, McpTarget } from '../../model/backend.ts'
import type { Listener } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Attached } from '../../model/policy.ts'
import type { Settings } from '../../model/settings.ts'
import type { Authentication } from '../../policies/authentication/schema.ts'
import type { JwtAuthentication } from '../../policies/jwt-authentication/schema.ts'
import { sealSecret } from '../../policies/schema.ts'
import { withPolicies } from '../../reach/all-layers.ts'
import { Reach } from '../../reach/reach.ts'
import type { Authority } from './certificate.ts'
import { pinsFor } from './mcp-stand-in.ts'

export interface ClusterDeps {
  /** The ports of stand-ins, by backend name. */
  readonly backends: ReadonlyMap<string, number>
  /** The key set that replaces those of all issuers. */
  readonly keySet: string
  /** Signs the certificates of clients and listeners. */
  readonly authority: Authority
  /** Listeners read the client address from PROXY headers. */
  readonly takesProxyHeader: boolean
}

export interface UnderTest {
  readonly model: Model
  /** Configured port → port that is listened on. */
  readonly ports: ReadonlyMap<number, number>
}

/**
 * Adapts the configuration so that it runs anywhere: other ports, stand-ins for backends, keys and
 * certificates of the test run. Rules, routes and everything else stay unchanged.
 */
export async function putUnderTest(model: Model, around: ClusterDeps): Promise<UnderTest> {
  const ports = await freePorts(new Reach(model).ports)
  const own = withPolicies(model, (all) => all.flatMap((policy) => changed(policy, around)))
  const edge = around.takesProxyHeader ? [PROXY_HEADER] : []
  return {
    ports,
    model: {
      ...own,
      frontend: [...edge, ...own.frontend],
      gateways: own.gateways.map(({ listeners, ...gateway }) => ({
        ...gateway,
        listeners: listeners.map((one) => listenerFor(one, ports, around.authority)),
      })),
      backends: own.backends.map((backend) => backendFor(backend, around.backends)),
    },
  }
}

/** The settings of the serving process. */
export function settingsUnderTest(settings: Settings): Settings {
  const off = { kind: 'off' } as const
  return {
    ...settings,
    workers: 1,
    enableIpv6: false,
    admin: off,
    stats: off,
    readiness: off,
    drain: { min: 0, max: 1_000 },
    // A busy machine must not affect decisions.
    limits: { ...settings.limits, delay: 0 },
    decisions: { keep: 100, show: [], allowed: 1 },
  }
}

/** Cases specify the address of a client; they cannot specify what a load balancer adds to it. */
const ANY_PROXY_HEADER = { mode: 'Optional', version: 'All' } as const

const PROXY_HEADER: Attached = {
  state: 'valid',
  kind: 'proxyProtocol',
  section: 'frontend',
  level: 'frontend',
  policy: 'portcullis:test',
  origin: { kind: 'object', object: 'portcullis test', field: 'proxyProtocol' },
  value: ANY_PROXY_HEADER,
}

/** Stand-ins speak plain HTTP/1.1, and are always healthy. */
const NOT_FOR_STAND_INS: ReadonlySet<string> = new Set(['backendTLS', 'healthCheck'])

function changed(policy: Attached, { keySet }: ClusterDeps): readonly Attached[] {
  if (policy.state === 'invalid') return [policy]
  const { kind, value } = policy
  if (NOT_FOR_STAND_INS.has(kind)) return []
  if (kind === 'proxyProtocol') return [{ ...policy, value: ANY_PROXY_HEADER }]
  if (kind === 'http' && policy.section === 'backend') {
    return [{ ...policy, value: { ...(value as object), version: '1.1' } }]
  }
  if (kind === 'jwtAuthentication') {
    return [{ ...policy, value: withKeys(value as JwtAuthentication, keySet) }]
  }
  if (kind !== 'authentication') return [policy]
  const { anyOf, ...rest } = value as Authentication
  const members = anyOf.map((member) =>
    member.kind === 'jwtAuthentication'
      ? { ...member, value: withKeys(member.value as JwtAuthentication, keySet) }
      : member,
  )
  return [{ ...policy, value: { ...rest, anyOf: members } }]
}

function withKeys(value: JwtAuthentication, text: string): JwtAuthentication {
  const jwks = { kind: 'local', keys: { text } } as const
  return { ...value, providers: value.providers.map((provider) => ({ ...provider, jwks })) }
}

function listenerFor(
  listener: Listener,
  ports: ReadonlyMap<number, number>,
  authority: Authority,
): Listener {
  const port = ports.get(listener.port ?? 0)
  if (port === undefined || listener.protocol === 'Invalid') return listener
  if (!('tls' in listener)) return { ...listener, port }
  if (listener.tls.mode === 'Passthrough') return { ...listener, port } as Listener
  const name = listener.hostname ?? 'localhost'
  const { cert, key } = authority.issue(name, [`DNS:${name}`])
  const { clients } = listener.tls
  const tls = {
    ...listener.tls,
    certificates: [{ cert: { text: cert }, key: sealSecret(key) }],
    ...(clients === undefined ? {} : { clients: { ...clients, ca: { text: authority.cert } } }),
  }
  return { ...listener, port, tls }
}

/** The stand-ins of a backend: one per provider or MCP server, named after both. */
export function standInsFor(backend: Backend): readonly string[] {
  if (backend.kind === 'mcp') return backend.targets.map(({ name }) => `${backend.name}/${name}`)
  if (backend.kind !== 'ai') return [backend.name]
  const providers = backend.groups.flatMap((group) => group.providers)
  return providers.map((provider) => `${backend.name}/${provider.name}`)
}

function backendFor(backend: Backend, ports: ReadonlyMap<string, number>): Backend {
  if (backend.kind === 'ai') {
    const providerFor = (provider: AiProvider): AiProvider => {
      const port = ports.get(`${backend.name}/${provider.name}`) ?? 0
      return { ...provider, endpoint: { host: '127.0.0.1', port } }
    }
    const groups = backend.groups.map(({ providers }) => ({
      providers: providers.map(providerFor),
    }))
    return { ...backend, groups }
  }
  if (backend.kind === 'mcp') return mcpBackendFor(backend, ports)
  const port = ports.get(backend.name)
  if (port === undefined) return backend
  const { name, origin, policies } = backend
  return { kind: 'host', name, origin, policies, endpoints: [{ host: '127.0.0.1', port }] }
}

/** Starts no program and calls no server: each target becomes a stand-in that speaks HTTP. */
function mcpBackendFor(backend: McpBackend, ports: ReadonlyMap<string, number>): McpBackend {
  const targetFor = (target: McpTarget): McpTarget => {
    const port = ports.get(`${backend.name}/${target.name}`) ?? 0
    const { pins } = target
    const address = { host: '127.0.0.1', port }
    if (target.transport === 'openapi') {
      const { host: _, port: __, backend: ___, ...options } = target.options
      return { ...target, options: { ...options, ...address } }
    }
    const own = { ...target, transport: 'mcp', options: address } as const
    return pins === undefined ? own : { ...own, pins: pinsFor(target, pins) }
  }
  // Clients are on this machine only because the gateway is: their Host says nothing about them.
  const options = { dnsRebindingProtection: false, ...backend.options }
  return { ...backend, options, targets: backend.targets.map(targetFor) }
}

// Below the ephemeral port range, so that no outgoing connection takes a port before it is used.
const FIRST_PORT = 16_384
const LAST_PORT = 32_767

/** Finds free ports by listening on them briefly. */
async function freePorts(written: Iterable<number>): Promise<ReadonlyMap<number, number>> {
  const found = new Map<number, number>()
  const held: Server[] = []
  for (const port of written) {
    const server = await listenSomewhere()
    found.set(port, (server.address() as AddressInfo).port)
    held.push(server)
  }
  await Promise.all(held.map((server) => once(server.close(), 'close')))
  return found
}

async function listenSomewhere(): Promise<Server> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT))
    const server = createServer().listen(port, '127.0.0.1')
    const isListening = await once(server, 'listening').then(
      () => true,
      () => false,
    )
    if (isListening) return server
  }
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}
