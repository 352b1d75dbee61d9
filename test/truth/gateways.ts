import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { TLSSocket } from 'node:tls'
import { hasErrors } from '../../src/diagnostics/result.ts'
import type { SignIn } from '../../src/policies/oidc/sign-in.ts'
import { Gateway } from '../../src/proxy/gateway.ts'
import { loadFile } from '../../src/sources/file/load.ts'
import type { DecisionRecord } from '../../src/telemetry/decision-record.ts'
import { createLogger } from '../../src/telemetry/log.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { freePorts } from '../free-port.ts'
import { Credentials } from './credentials.ts'
import { isTree, type Json, type Tree, writeYaml } from './document.ts'
import type { Place } from './generate.ts'
import { mcpResponse, namesIn, OFFERED } from './mcp-server.ts'
import { writePins } from './pin-files.ts'
import { diceFor, type Share, sharesIn } from './shares.ts'
import { bytesOf, CLOSED, Link, type Outcome, type Probe } from './wire.ts'

/** The response of a model provider to every request. */
const COMPLETION = JSON.stringify({
  ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
  choices: [{ index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})

export const LOGIN = { location: 'https://login.test/', cookies: [] }
/** Only clients with a cookie of sessionCookie() are signed in. */
const SESSIONS: SignIn = {
  begin: async () => LOGIN,
  finish: async () => LOGIN,
  read: async (cookies = '') => {
    const [, payload] = /portcullis-oidc-truth=([\w-]+)/.exec(cookies) ?? []
    if (payload === undefined) return undefined
    return { payload: Buffer.from(payload, 'base64url').toString(), cookies: [] }
  },
  logout: async () => LOGIN,
  logoutByProvider: async () => undefined,
}

/** The cookie of a signed-in client; `claims` is JSON. */
export function sessionCookie(claims: string): readonly [string, string] {
  return ['cookie', `portcullis-oidc-truth=${Buffer.from(claims).toString('base64url')}`]
}

const BACKENDS = 8
const PORTS = 3

/** Backends, files and ports of a run, and an in-process gateway that serves one file at a time. */
export class World {
  readonly folder = mkdtempSync(join(tmpdir(), 'truth-'))
  readonly credentials = new Credentials()
  readonly place: Place
  readonly #backends: readonly Server[]
  readonly #sockets = new Set<Socket>()
  /** Gateways by the attributes in their records, which a gateway reads only at the start. */
  readonly #gateways = new Map<string, Gateway>()
  readonly records: DecisionRecord[] = []
  /** What servers of tools offer: more than the first ones if messages are about others. */
  readonly #offered = new Set(OFFERED)
  #serving: Gateway | undefined
  /** By file: the backends that are chosen by chance. */
  readonly #shared = new Map<string, readonly Share[]>()
  #shares: readonly Share[] = []
  #dice = 0
  /** The backend that received the last request. */
  #reached: number | undefined
  /** Providers are sent requests of which the gateway cannot read the response. */
  #hasProviders = false

  private constructor(backends: readonly Server[], ports: readonly number[]) {
    this.#backends = backends
    for (const server of backends) server.on('connection', (socket) => this.#greet(socket))
    this.place = { ports, backends: backends.map(portOf) }
    this.credentials.writeFiles(this.folder)
  }

  static async open(): Promise<World> {
    const backends = await Promise.all(Array.from({ length: BACKENDS }, listening))
    const world = new World(backends, await freePorts(PORTS))
    await writePins(world)
    return world
  }

  async close(): Promise<void> {
    await Promise.all([...this.#gateways.values()].map((gateway) => gateway.drain()))
    for (const socket of this.#sockets) socket.destroy()
    for (const server of this.#backends) server.close()
    rmSync(this.folder, { recursive: true })
  }

  /** The backend returns only its own name; over TLS, if that arrived unchanged. */
  #greet(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    const port = socket.localPort as number
    socket.once('readable', () => {
      const bytes = socket.read() as Buffer | null
      if (bytes === null) return
      socket.unshift(bytes)
      if (bytes[0] !== 0x16) return this.#respond(socket, port)
      const secured = new TLSSocket(socket, {
        isServer: true,
        secureContext: this.credentials.serverContext,
      })
      secured.on('error', () => socket.destroy())
      this.#respond(secured, port)
    })
  }

  #respond(socket: Socket, port: number): void {
    const head = `HTTP/1.1 200 OK\r\nx-backend: ${port}\r\n`
    const plain = `${head}content-length: 0\r\n\r\n`
    const model = `${head}content-type: application/json\r\ncontent-length: ${COMPLETION.length}\r\n\r\n${COMPLETION}`
    let seen = ''
    socket.on('data', (bytes) => {
      seen += bytes.toString('latin1')
      for (let end = seen.indexOf('\r\n\r\n'); end >= 0; end = seen.indexOf('\r\n\r\n')) {
        const isCall = /POST \/v1\/chat\/completions /.test(seen.slice(0, end))
        const isMessage = /^POST \/mcp /.test(seen)
        const isStream = /^GET \/mcp [\s\S]*\r\naccept: text\/event-stream/i.test(seen)
        const length = Number(/\r\ncontent-length: (\d+)/i.exec(seen.slice(0, end))?.[1] ?? 0)
        if (isMessage && seen.length < end + 4 + length) return
        const message = seen.slice(end + 4, end + 4 + length)
        seen = seen.slice(end + 4 + (isMessage ? length : 0))
        this.#reached = port
        if (isMessage) socket.write(messageFrom(message, port, [...this.#offered]))
        else if (isStream) socket.write(NO_EVENTS)
        else socket.write(isCall ? model : plain)
      }
    })
  }

  write(name: string, tree: Tree): string {
    return this.writeText(name, writeYaml(tree).text, tree)
  }

  /** `like`: a file that has the same routes and backends. */
  writeText(name: string, text: string, like?: Tree): string {
    const file = join(this.folder, name)
    this.#shared.set(file, like === undefined ? [] : sharesIn(like))
    writeFileSync(file, text)
    return file
  }

  /** Serves the file from now on; returns the reason if it cannot. */
  async serve(file: string): Promise<string | undefined> {
    const { result, settings } = loadFile(file, { environment: {} })
    const { value: model, diagnostics } = result
    if (model === undefined || settings === undefined || hasErrors(diagnostics)) {
      return JSON.stringify(diagnostics)
    }
    const key = JSON.stringify(settings.decisions.show)
    let gateway = this.#gateways.get(key)
    if (this.#serving !== undefined && this.#serving !== gateway) {
      await this.#serving.drain()
      for (const [own, one] of this.#gateways) if (one === this.#serving) this.#gateways.delete(own)
      gateway = this.#gateways.get(key)
    }
    if (gateway === undefined) {
      const log = createLogger({ format: 'text', level: 'error', write: () => {} })
      const metrics = createMetrics({ histograms: 'classic', remove: [], customLabels: [] })
      const writeDecision = (record: DecisionRecord) => void this.records.push(record)
      gateway = new Gateway({
        settings,
        log,
        metrics,
        reusePort: false,
        writeDecision,
        random: () => this.#dice,
        signIn: () => SESSIONS,
      })
      this.#gateways.set(key, gateway)
    }
    this.#serving = gateway
    this.#hasProviders = model.backends.some(({ kind }) => kind === 'ai')
    gateway.updateCatalog(settings)
    this.#shares = this.#shared.get(file) ?? []
    const applied = await gateway.apply(model)
    return applied.isApplied ? undefined : JSON.stringify(applied.diagnostics)
  }

  /** Before another pair of files. */
  forgetNames(): void {
    this.#offered.clear()
    for (const name of OFFERED) this.#offered.add(name)
  }

  /** Sends the probes sequentially to the served file. */
  async send(probes: readonly Probe[], each?: (index: number) => void): Promise<Outcome[]> {
    const outcomes: Outcome[] = []
    const links = new Map<string, Link>()
    for (const { request } of probes) {
      for (const name of namesIn(request.body ?? '')) this.#offered.add(name)
    }
    for (const [index, { transport, request, share }] of probes.entries()) {
      this.#dice = diceFor(this.#shares, share)
      const key = JSON.stringify(transport)
      const bytes = bytesOf(request, this.credentials)
      let outcome = CLOSED
      this.#reached = undefined
      // A reused connection may have been closed meanwhile, which is unrelated to the request.
      for (let tries = 0; tries < 2; tries++) {
        const kept = links.get(key)
        const link = kept?.isOpen ? kept : await Link.open(transport, this.credentials)
        links.delete(key)
        if (link === undefined) break
        outcome = transport.isHttp2
          ? await link.askHttp2(request, this.credentials)
          : await link.ask(bytes, request.method === 'HEAD')
        if (link.isOpen && outcome.status !== 0) links.set(key, link)
        else link.close()
        if (outcome.status !== 0 || link !== kept) break
      }
      // Other responses without a backend are rejections, such as those of guards of responses.
      const isUnread = outcome.by === undefined && outcome.status === 502 && this.#hasProviders
      outcomes.push(isUnread ? { ...outcome, by: this.#reached } : outcome)
      each?.(index)
    }
    for (const link of links.values()) link.close()
    return outcomes
  }
}

/** The same file on other ports. */
export function onPorts(tree: Tree, ports: ReadonlyMap<number, number>): Tree {
  const moved = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(moved)
    if (!isTree(value)) return value
    const entries = Object.entries(value).map(([key, own]) => {
      const port = key === 'port' ? ports.get(own as number) : undefined
      return [key, port ?? moved(own)] as const
    })
    return Object.fromEntries(entries)
  }
  return moved(tree) as Tree
}

const NO_EVENTS = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 0\r\n\r\n'

function messageFrom(message: string, port: number, names: readonly string[]): string {
  const body = mcpResponse(message, port, names)
  if (body === undefined) return 'HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n'
  const type = 'content-type: application/json'
  return `HTTP/1.1 200 OK\r\n${type}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

async function listening(): Promise<Server> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}
