import type { OpenCall } from '../exchange/call.ts'
import { OwnEndedSessions } from '../exchange/ended-sessions.ts'
import type { Exchange } from '../exchange/exchange.ts'
import { MessageStreams } from '../exchange/message-streams.ts'
import type { McpBackend, McpTarget } from '../model/backend.ts'
import { canonicalJson } from '../model/json.ts'
import type { Http } from '../policies/http/schema.ts'
import { attemptTime } from '../policies/timeout/compile.ts'
import { acceptedHosts } from '../protocols/mcp/foreign-pages.ts'
import type {
  HeldServer,
  McpEndpoint,
  McpEndpointOptions,
  ServerOptions,
  StdioServer,
} from '../protocols/mcp/index.ts'
import type { DocumentSource } from '../protocols/mcp/openapi/document.ts'
import { knownTools, readPinFile } from '../protocols/mcp/schema.ts'
import type { Sending } from '../protocols/mcp/server.ts'
import type { McpResponder } from '../protocols/mcp/serving.ts'
import type { StdioOptions } from '../protocols/mcp/stdio-process.ts'
import { effectiveAt } from '../reach/effective.ts'
import type { Layer } from '../reach/layers.ts'
import { holdsForRequests, isForEachServer } from '../reach/points.ts'
import { caller } from '../upstream/call.ts'
import { RESPONSE_IDLE } from '../upstream/idle-timeouts.ts'
import { clusterPolicies } from './backend-policies.ts'
import { isCallable } from './clusters.ts'
import type { Compilation } from './compilation.ts'
import { type McpAddress, mcpAddress } from './mcp-address.ts'
import { prepareCall } from './mcp-call.ts'
import { mcpGuardsFor } from './mcp-guards.ts'
import { reportUnpinned } from './mcp-pins.ts'
import type { Permit } from './permit.ts'
import type { McpProgram, McpUpstream } from './program.ts'
import { sealKeyOf } from './seal-key.ts'

/** For a process without other workers. */
const OWN_STREAMS = new MessageStreams()
const OWN_ENDED = new OwnEndedSessions()

/** Default timeout of a tool, in milliseconds. */
const DEFAULT_TIMEOUT = 300_000

/** Undefined if a server cannot be reached as configured. */
export function openMcpUpstream(
  compilation: Compilation,
  backend: McpBackend,
  around: readonly Layer[],
  mcp: McpProgram,
): McpUpstream | undefined {
  const servers: ServerOptions[] = []
  for (const target of backend.targets) {
    const server = openServer(compilation, backend, target, around)
    if (server === undefined) return undefined
    servers.push(server)
  }
  const options: McpEndpointOptions<Permit<'mcp'>> = {
    name: backend.name,
    servers,
    options: backend.options,
    sealKey: sealKeyOf(compilation.services),
    streams: compilation.services.streams ?? OWN_STREAMS,
    ended: compilation.services.endedSessions ?? OWN_ENDED,
    rules: {
      isGuarded: mcp.isGuarded || servers.some(({ pins }) => pins !== undefined),
      decide: (exchange, message) => mcp.decide(exchange, message).permit,
      admit: (exchange, message) => mcp.admit(exchange, message).permit,
      shows: (exchange, message) => mcp.shows(exchange, message),
      stepUp: (exchange) => mcp.stepUp(exchange),
      unpinned: reportUnpinned,
    },
    guardsFor: mcpGuardsFor,
  }
  const { prefixMode } = backend.options
  const isPrefixed = prefixMode === 'Always' || (prefixMode !== 'Never' && servers.length > 1)
  const plans = servers.map(({ name, pins }, index) => {
    const target = backend.targets[index] as McpTarget
    return { name, pins, knownTools: () => knownTools(target) }
  })
  const hosts = acceptedHosts(backend.options)
  return { kind: 'mcp', mcp, servers: plans, isPrefixed, hosts, serve: lazily(options) }
}

/** The MCP implementation is loaded with the first backend that needs it. */
function lazily(options: McpEndpointOptions<Permit<'mcp'>>): McpUpstream['serve'] {
  let endpoint: McpEndpoint | undefined
  const loading = import('../protocols/mcp/index.ts').then(({ createMcpEndpoint }) => {
    endpoint = createMcpEndpoint(options)
    return endpoint
  })
  return (_, exchange, responder) =>
    endpoint === undefined
      ? serveWhenLoaded(loading, exchange, responder)
      : endpoint.serve(exchange, responder)
}

function serveWhenLoaded(
  loading: Promise<McpEndpoint>,
  exchange: Exchange,
  responder: McpResponder,
): Sending {
  let isStopped = false
  let sending: Sending | undefined
  loading
    .then((endpoint) => {
      if (!isStopped) sending = endpoint.serve(exchange, responder)
    })
    .catch((error: unknown) => responder.broke(error))
  return {
    stop() {
      isStopped = true
      sending?.stop()
    },
    resume: () => sending?.resume(),
  }
}

function openServer(
  compilation: Compilation,
  backend: McpBackend,
  target: McpTarget,
  around: readonly Layer[],
): ServerOptions | undefined {
  const pinned = pinsOf(target)
  if (pinned === 'invalid') return undefined
  if (target.transport === 'stdio')
    return { ...openProcess(compilation, backend, target), ...pinned }
  const { reach, sections } = compilation
  const layers = reach.within(around, { backend, server: target })
  const address = mcpAddress(target)
  const open = address && openCalls(compilation, backend, target, address, layers)
  if (address === undefined || open === undefined) return undefined
  const own = new Set(layers.length > around.length ? layers.at(-1)?.policies : [])
  // Its steps run only after the message was guarded.
  if ([...own].some(({ kind }) => kind === 'guardrails')) return undefined
  const section = sections.compile(
    layers,
    'backend',
    (one) => isForEachServer(one) || (own.has(one) && holdsForRequests(one, backend)),
  )
  const { byKind } = effectiveAt(layers, 'backend')
  const http = byKind.get('http')?.[0].value as Http | undefined
  const auth = byKind.get('backendAuth')?.[0].value as { readonly kind?: string } | undefined
  const http1 = {
    name: target.name,
    origin: originOf(address),
    open,
    prepare: prepareCall({
      run: section.run,
      path: address.path,
      keepsCredentials: auth?.kind === 'passthrough',
    }),
    timeout: attemptTime(http?.requestTimeout) || DEFAULT_TIMEOUT,
    idleTimeout: attemptTime(http?.responseIdleTimeout) || RESPONSE_IDLE,
    ...pinned,
  }
  if (target.transport === 'mcp') return { kind: 'http', ...http1 }
  if (target.transport === 'openapi') {
    const { schema } = target.options as unknown as ApiOptions
    const basePath = address.path === '' ? undefined : address.path.replace(/\/+$/, '')
    const key = `openapi ${canonicalJson(schema)} ${basePath}`
    const heldDocument = compilation.contexts.keepAs(key, () => ({ document: undefined }))
    return { kind: 'openapi', source: schema, basePath, heldDocument, ...http1 }
  }
  const sessionTtl = compilation.services.mcpSessionTtl ?? DEFAULT_SESSION_TTL
  return { kind: 'sse', held: heldFor(compilation, backend, target), sessionTtl, ...http1 }
}

interface ApiOptions {
  readonly schema: DocumentSource
}

/** The origin that a server may use for itself; undefined if only its backend knows it. */
function originOf(address: McpAddress): string | undefined {
  if (address.kind !== 'endpoint') return undefined
  const { host, port, scheme = 'http' } = address.endpoint
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Sessions continue as long as the target is the same. */
function heldFor(
  { contexts }: Compilation,
  backend: McpBackend,
  { name, options, transport }: McpTarget,
): HeldSessions {
  const key = `mcp ${backend.name}/${name} ${canonicalJson(options)}`
  return contexts.keepAs(key, () => new HeldSessions(transport === 'stdio' ? name : ''))
}

function pinsOf({ name, pins }: McpTarget): Pick<ServerOptions, 'pins'> | 'invalid' {
  if (pins === undefined) return { pins: undefined }
  const file = readPinFile(pins.file.text)
  // The source reported the error: an unreadable file approves nothing.
  if (typeof file === 'string') return 'invalid'
  return { pins: { mode: pins.mode, tools: file.get(name) ?? new Map() } }
}

/** Half an hour. */
const DEFAULT_SESSION_TTL = 1_800_000

function openProcess(
  compilation: Compilation,
  backend: McpBackend,
  target: McpTarget,
): StdioServer {
  const { name, options } = target
  const held = heldFor(compilation, backend, target)
  const sessionTtl = compilation.services.mcpSessionTtl ?? DEFAULT_SESSION_TTL
  const stdio = options as unknown as StdioOptions
  const quotas = compilation.services.policyDeps?.quotas
  const limitsName = `mcp-processes ${backend.name}/${name}`
  return { kind: 'stdio', name, held, stdio, sessionTtl, quotas, limitsName }
}

class HeldSessions implements HeldServer {
  server: HeldServer['server'] = undefined
  isClosed = false
  readonly #target: string

  /** `target` is empty for a server without processes. */
  constructor(target: string) {
    this.#target = target
  }

  mcpProcesses(): readonly [target: string, count: number] {
    return [this.#target, this.server?.channels ?? 0]
  }

  close(): void {
    this.isClosed = true
    this.server?.close?.()
  }
}

function openCalls(
  { reach, clusters }: Compilation,
  backend: McpBackend,
  { name, origin }: McpTarget,
  address: McpAddress,
  layers: readonly Layer[],
): OpenCall | undefined {
  const policies = clusterPolicies([...effectiveAt(layers, 'backend').byKind.values()].flat())
  if (address.kind === 'endpoint') {
    const { endpoint } = address
    const host = { kind: 'host', name: `${backend.name}/${name}`, origin, policies: [] } as const
    const cluster = clusters.open({ ...host, endpoints: [endpoint] }, policies)
    return cluster && caller(cluster)
  }
  const named = reach.backends.get(address.backend)
  if (!isCallable(named)) return undefined
  const { byKind, invalid } = effectiveAt(reach.behind([], { backend: named }), 'backend')
  if (invalid.length > 0) return undefined
  const cluster = clusters.open(named, clusterPolicies([...byKind.values()].flat()))
  return cluster && caller(cluster)
}
