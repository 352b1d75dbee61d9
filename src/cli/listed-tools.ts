import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { McpBackend, McpTarget } from '../model/backend.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { Route } from '../model/route.ts'
import type { Settings } from '../model/settings.ts'
import { jsonMembers } from '../protocols/json-text.ts'
import { digestsOf } from '../protocols/mcp/pins.ts'
import type { ToolPin } from '../protocols/mcp/schema.ts'
import { Gateway } from '../proxy/gateway.ts'
import { createLogger } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { settingsUnderTest } from './suite/under-test.ts'

export interface PinnedTarget {
  readonly backend: McpBackend
  readonly target: McpTarget
}

/** The current tools of one server, or the reason why they are not known. */
export type ListedTools =
  | { readonly ok: true; readonly tools: ReadonlyMap<string, ToolPin> }
  | { readonly ok: false; readonly problem: string }

/**
 * Lists the tools of servers as the gateway reaches them: through a gateway with a route to each
 * server, without rules, for clients that know a secret of this process.
 */
export async function listTools(
  model: Model,
  settings: Settings,
  targets: readonly PinnedTarget[],
): Promise<readonly ListedTools[]> {
  const secret = randomBytes(32).toString('hex')
  const port = await freePort()
  const log = createLogger({ format: 'text', level: 'error', write: () => {} })
  const own = settingsUnderTest(settings)
  const gateway = new Gateway({ settings: own, log, metrics: createMetrics(), reusePort: false })
  try {
    const { isApplied, diagnostics } = await gateway.apply(modelFor(model, targets, port, secret))
    if (!isApplied) {
      const problem = diagnostics[0]?.message ?? 'cannot apply the configuration'
      return targets.map(() => ({ ok: false, problem }))
    }
    const listed: ListedTools[] = []
    for (const [index] of targets.entries()) {
      const client = new ListingClient(`http://127.0.0.1:${port}/${index}`, secret)
      listed.push(await client.list())
    }
    return listed
  } finally {
    await gateway.drain()
  }
}

const SECRET = 'x-portcullis-pin'
const ORIGIN = { kind: 'object', object: 'portcullis pin', field: '' } as const

/** Policies for reaching a server; those for clients do not apply to pinning. */
const KEPT: ReadonlySet<string> = new Set(['backendAuth', 'backendTLS', 'http', 'tcp'])

function modelFor(
  model: Model,
  targets: readonly PinnedTarget[],
  port: number,
  secret: string,
): Model {
  const kept = (policies: readonly Attached[]) => policies.filter(({ kind }) => KEPT.has(kind))
  const name = (index: number) => `portcullis-pin-${index}`
  const backends = targets.map(({ backend, target }, index): McpBackend => {
    const { pins: _, ...unpinned } = target
    const { options, origin } = backend
    return {
      kind: 'mcp',
      name: name(index),
      origin,
      options: { ...options, prefixMode: 'Never', dnsRebindingProtection: false },
      policies: kept(backend.policies),
      targets: [{ ...unpinned, policies: kept(target.policies) }],
    }
  })
  const routes = targets.map((_, index): Route => {
    const path = { kind: 'prefix', value: `/${index}` } as const
    const headers = [{ name: SECRET, kind: 'exact', value: secret } as const]
    const action = {
      kind: 'forward',
      backends: [{ backend: name(index), weight: 1, policies: [] }],
    } as const
    const matches = [{ path, headers, query: [] }]
    return {
      name: name(index),
      origin: ORIGIN,
      parents: [{ gateway: 'portcullis-pin' }],
      hostnames: [],
      policies: [],
      rules: [{ name: name(index), origin: ORIGIN, matches, policies: [], action }],
    }
  })
  const listener = {
    name: 'default',
    origin: ORIGIN,
    protocol: 'HTTP',
    port,
    policies: [],
  } as const
  const gateway = { name: 'portcullis-pin', origin: ORIGIN, listeners: [listener], policies: [] }
  return {
    gateways: [gateway],
    routes,
    tcpRoutes: [],
    backends: [...model.backends, ...backends],
    frontend: [],
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  await once(server.close(), 'close')
  return port
}

const HANDSHAKE = '2025-11-25'
const MODERN = '2026-07-28'
/** The number of pages is limited, since a server may never end its list. */
const MAX_PAGES = 64
const TIMEOUT_MS = 60_000

class ListingClient {
  readonly #url: string
  readonly #secret: string
  #session: Record<string, string> = {}
  #meta: Record<string, unknown> | undefined
  #id = 0

  constructor(url: string, secret: string) {
    this.#url = url
    this.#secret = secret
  }

  async list(): Promise<ListedTools> {
    try {
      await this.#introduce()
      const tools = new Map<string, ToolPin>()
      let cursor: string | undefined
      for (let page = 0; page < MAX_PAGES; page++) {
        const result = await this.#request('tools/list', cursor === undefined ? {} : { cursor })
        const problem = readTools(result, tools)
        if (problem !== undefined) return { ok: false, problem }
        const { nextCursor } = JSON.parse(result) as { readonly nextCursor?: unknown }
        if (typeof nextCursor !== 'string') return { ok: true, tools }
        cursor = nextCursor
      }
      return { ok: false, problem: `its tool list has more than ${MAX_PAGES} pages` }
    } catch (error) {
      return { ok: false, problem: (error as Error).message }
    } finally {
      await this.#end()
    }
  }

  /**
   * Performs the handshake; a server without one gets the metadata that later revisions send with
   * each request.
   */
  async #introduce(): Promise<void> {
    const clientInfo = { name: 'portcullis pin', version: '1' }
    const params = { protocolVersion: HANDSHAKE, capabilities: {}, clientInfo }
    try {
      const result = await this.#request('initialize', params)
      const { protocolVersion } = JSON.parse(result) as { readonly protocolVersion?: unknown }
      this.#session['mcp-protocol-version'] = String(protocolVersion)
      await this.#post({ method: 'notifications/initialized' })
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      this.#session = { 'mcp-protocol-version': MODERN }
      this.#meta = {
        'io.modelcontextprotocol/protocolVersion': MODERN,
        'io.modelcontextprotocol/clientInfo': clientInfo,
        'io.modelcontextprotocol/clientCapabilities': {},
      }
    }
  }

  async #end(): Promise<void> {
    if (this.#session['mcp-session-id'] === undefined) return
    const headers = { [SECRET]: this.#secret, ...this.#session }
    await fetch(this.#url, { method: 'DELETE', headers }).catch(() => undefined)
  }

  /** Returns the raw JSON of the result. */
  async #request(method: string, params: object): Promise<string> {
    const id = ++this.#id
    const meta = this.#meta === undefined ? {} : { _meta: this.#meta }
    const response = await this.#post({ id, method, params: { ...params, ...meta } })
    const text = await response.text()
    const type = response.headers.get('content-type') ?? ''
    const messages = type.includes('text/event-stream') ? eventsIn(text) : [text]
    for (const message of messages) {
      const members = membersOf(message)
      if (members.get('id') !== String(id) && members.get('error') === undefined) continue
      const error = members.get('error')
      if (error !== undefined) throw new RpcError(`${method}: ${messageOf(error)}`)
      const result = members.get('result')
      if (result !== undefined) return result
    }
    throw new Error(`${method}: the server responded with ${response.status} and no result`)
  }

  async #post(message: Message): Promise<Response> {
    const response = await fetch(this.#url, {
      method: 'POST',
      body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        [SECRET]: this.#secret,
        ...(this.#meta === undefined ? {} : { 'mcp-method': message.method }),
        ...this.#session,
      },
    })
    const session = response.headers.get('mcp-session-id')
    if (session !== null) this.#session['mcp-session-id'] = session
    return response
  }
}

interface Message {
  readonly method: string
  readonly id?: number
  readonly params?: object
}

/** The message of an error object, or the whole object if it has none. */
function messageOf(error: string): string {
  const { message } = JSON.parse(error) as { readonly message?: unknown }
  return typeof message === 'string' && message !== '' ? message : error
}

/** The server responded with an error. */
class RpcError extends Error {}

function membersOf(text: string): ReadonlyMap<string | number, string> {
  try {
    JSON.parse(text)
    return jsonMembers(text)
  } catch {
    return new Map()
  }
}

function eventsIn(text: string): readonly string[] {
  return text.split(/\r?\n\r?\n/).flatMap((block) => {
    const data = block.split(/\r?\n/).flatMap((line) => /^data: ?(.*)$/s.exec(line)?.[1] ?? [])
    return data.length === 0 ? [] : [data.join('\n')]
  })
}

/** Returns the problem with the list, if any. */
function readTools(result: string, tools: Map<string, ToolPin>): string | undefined {
  const list = jsonMembers(result).get('tools')
  if (list === undefined || !list.startsWith('[')) return 'the result has no `tools`'
  for (const item of jsonMembers(list).values()) {
    const { name } = JSON.parse(item) as { readonly name?: unknown }
    if (typeof name !== 'string') return 'a tool has no name'
    const pin = digestsOf(item)
    if (pin === undefined) return `tool \`${name}\` has a duplicate member`
    if (tools.has(name)) return `duplicate tool \`${name}\``
    tools.set(name, pin)
  }
  return undefined
}
