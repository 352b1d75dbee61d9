import { OwnEndedSessions } from '../../src/exchange/ended-sessions.ts'
import { type HeaderEdit, NO_EDIT } from '../../src/exchange/header-edit.ts'
import { MessageStreams } from '../../src/exchange/message-streams.ts'
import type { Reply } from '../../src/exchange/reply.ts'
import type { JsonObject } from '../../src/model/json.ts'
import { createMcpEndpoint, type ServerOptions } from '../../src/protocols/mcp/index.ts'
import type { McpResponder, McpRules } from '../../src/protocols/mcp/serving.ts'
import { exchangeOf } from '../fuzz/exchanges.ts'

/** A message that a server received. */
export interface ArrivedMessage {
  readonly server: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  // biome-ignore lint/suspicious/noExplicitAny: a JSON-RPC message as received
  readonly body: any
}

export interface ServerReply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** The text of the response, or its result or error for the request. */
  readonly text?: string
  readonly result?: object
  readonly error?: object
  /** Events of a stream, instead. */
  readonly events?: readonly string[]
  /** There is no response. */
  readonly failure?: string
}

export interface McpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: a JSON-RPC message as received
  readonly body: any
  readonly detail: string | undefined
  /** `reply`, `stream`, `aborted`, or the exception that was thrown. */
  readonly how: string
}

const ALLOWED: McpRules<'permit'> = {
  isGuarded: false,
  decide: () => 'permit',
  admit: () => 'permit',
  shows: () => true,
  stepUp: () => undefined,
  unpinned: () => {},
}

export interface EndpointPlan {
  readonly names: readonly string[]
  readonly options?: JsonObject
  readonly rules?: Partial<McpRules<'permit'>>
  /** Options of single servers, by their names. */
  readonly more?: Readonly<Record<string, Partial<ServerOptions>>>
}

/** An endpoint in front of servers that respond as the test says, without sockets. */
export class ScriptedServers {
  readonly arrived: ArrivedMessage[] = []
  respondWith: (message: ArrivedMessage) => ServerReply | 'wait'
  readonly #endpoint: ReturnType<typeof createMcpEndpoint<'permit'>>

  constructor(plan: EndpointPlan, respondWith: (message: ArrivedMessage) => ServerReply | 'wait') {
    const { names, options = {}, rules = {}, more = {} } = plan
    this.respondWith = respondWith
    this.#endpoint = createMcpEndpoint<'permit'>({
      name: 'tools',
      servers: names.map((name) => ({ ...this.#serverOf(name), ...more[name] }) as ServerOptions),
      options,
      sealKey: new Uint8Array(32).fill(7),
      streams: new MessageStreams(),
      ended: new OwnEndedSessions(),
      rules: { ...ALLOWED, ...rules },
      guardsFor: () => undefined,
    })
  }

  #serverOf(name: string): ServerOptions {
    return {
      kind: 'http',
      name,
      pins: undefined,
      timeout: 1_000,
      idleTimeout: 1_000,
      prepare: () => {
        const none = { credentialQuery: '', setHeaders: [], rejected: undefined }
        return { path: '/mcp', authority: name, headers: [], ...none }
      },
      open: (_, { method, headers, body }, events) => {
        const text = Buffer.from(body).toString()
        const request = text === '' ? undefined : JSON.parse(text)
        const own = { server: name, method, headers: Object.fromEntries(headers), body: request }
        this.arrived.push(own)
        const said = this.respondWith(own)
        if (said !== 'wait') queueMicrotask(() => respond(request, said, events))
        return { stop() {}, resume() {} }
      },
    }
  }

  /** The methods of messages, by server. */
  get methods(): readonly string[] {
    return this.arrived.map(({ server, method, body }) => `${server} ${body?.method ?? method}`)
  }

  async send(
    body: unknown,
    headers: Readonly<Record<string, string>> = {},
    method = 'POST',
  ): Promise<McpResponse> {
    const all = {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    }
    const exchange = exchangeOf({ method, url: '/mcp', headers: all })
    exchange.request.body = new TextEncoder().encode(
      typeof body === 'string' ? body : body === undefined ? '' : JSON.stringify(body),
    )
    return new Promise((resolve) => {
      let text = ''
      let own: HeaderEdit = NO_EDIT
      const done = (how: string, { status = 200, detail }: Partial<Reply> = {}) =>
        resolve({
          status,
          detail,
          how,
          text,
          headers: Object.fromEntries(own.added),
          body: read(text),
        })
      const responder: McpResponder = {
        reply: (reply) => {
          const { body: content, headers: edit } = reply
          text = typeof content === 'string' ? content : Buffer.from(content).toString()
          own = edit
          done('reply', reply)
        },
        open: (added) => {
          own = { added } as unknown as HeaderEdit
        },
        write: (piece) => {
          text += piece
          return true
        },
        end: () => done('stream'),
        abort: (reason) => done('aborted', { detail: reason }),
        broke: (error) => done(`broke: ${error}`, { status: 500 }),
      }
      this.#endpoint.serve(exchange, responder)
    })
  }

  /** A request with ID 1. */
  request(method: string, params: object = {}, headers: Readonly<Record<string, string>> = {}) {
    return this.send({ jsonrpc: '2.0', id: 1, method, params }, headers)
  }

  /** Starts a session, and returns its header. */
  async begin(params: object = INITIALIZE): Promise<Readonly<Record<string, string>>> {
    const { headers } = await this.request('initialize', params)
    const { 'mcp-session-id': id } = headers
    return id === undefined ? {} : { 'mcp-session-id': id, 'mcp-protocol-version': '2025-06-18' }
  }
}

function respond(
  request: { readonly id?: unknown } | undefined,
  { status = 200, headers = {}, text, result, error, events: blocks, failure }: ServerReply,
  events: {
    response(status: number, fields: readonly (readonly [string, string])[]): void
    data(bytes: Uint8Array): boolean
    ended(): void
    failed(reason: string): void
  },
): void {
  if (failure !== undefined) {
    events.failed(failure)
    return
  }
  const content = result === undefined ? { error } : { result }
  const hasContent = result !== undefined || error !== undefined
  const message = hasContent ? JSON.stringify({ jsonrpc: '2.0', id: request?.id, ...content }) : ''
  const type = blocks === undefined ? 'application/json' : 'text/event-stream'
  events.response(status, Object.entries({ 'content-type': type, ...headers }))
  const own = blocks?.map((block) => `data: ${block}\n\n`).join('') ?? text ?? message
  if (own !== '') events.data(Buffer.from(own))
  events.ended()
}

function read(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const INITIALIZE = {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
}
