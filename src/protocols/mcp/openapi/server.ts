import type { CallHandle } from '../../../exchange/call.ts'
import type { Exchange } from '../../../exchange/exchange.ts'
import type { Header } from '../../../exchange/header-edit.ts'
import type { Reply } from '../../../exchange/reply.ts'
import { CODES, errorText } from '../errors.ts'
import type { HttpServerOptions, PreparedCall } from '../http-server.ts'
import { isObject, readMessage } from '../message.ts'
import { HANDSHAKE_REVISIONS, isModern } from '../revisions.ts'
import {
  type McpServer,
  NOT_SENDING,
  type Sending,
  type SentMessage,
  type ServerEvents,
} from '../server.ts'
import type { ApiDocument } from './document.ts'
import type { Operation } from './operations.ts'
import { type ApiRequest, requestFor } from './request.ts'
import { resultOf } from './result.ts'

export interface ApiServerOptions extends HttpServerOptions {
  readonly document: ApiDocument
  /** The path of the API, if configured. */
  readonly basePath: string | undefined
}

/** The max length of an API response. */
const MAX_RESPONSE = 16 * 1024 * 1024
/** How long clients may keep the list, in milliseconds. */
const TTL = 300_000
const encoder = new TextEncoder()

/** An API with an OpenAPI description: each operation is a tool. */
export class ApiMcpServer<P> implements McpServer<P> {
  readonly name: string
  readonly #options: ApiServerOptions

  constructor(options: ApiServerOptions) {
    this.name = options.name
    this.#options = options
  }

  send(_: P, exchange: Exchange, message: SentMessage, events: ServerEvents): Sending {
    if (message.kind !== 'request') {
      events.began('accepted', undefined)
      events.ended()
      return NOT_SENDING
    }
    const calling = new ApiCall(events, message)
    this.#options.document.load(this.#options.basePath).then(
      (operations) => {
        if (!calling.isOver) this.#serve(exchange, message, operations, calling)
      },
      (error: Error) => calling.fail(503, `openapi-document: ${error.message}`),
    )
    return calling
  }

  #serve(
    exchange: Exchange,
    { method, text, version }: SentMessage,
    operations: readonly Operation[],
    calling: ApiCall,
  ): void {
    const isLatest = isModern(version)
    const own = isLatest ? { resultType: 'complete' } : {}
    const kept = isLatest ? { ttlMs: TTL, cacheScope: 'public' } : {}
    const message = readMessage(encoder.encode(text))
    const params = typeof message === 'string' ? {} : message.params
    switch (method) {
      case 'initialize':
        calling.result({ protocolVersion: agreed(params['protocolVersion']), ...this.#about() })
        return
      case 'server/discover': {
        const { serverInfo, ...about } = this.#about()
        const _meta = { 'io.modelcontextprotocol/serverInfo': serverInfo }
        const supportedVersions = [version, ...HANDSHAKE_REVISIONS]
        calling.result({ ...own, supportedVersions, ...about, ...kept, _meta })
        return
      }
      case 'ping':
        calling.result(own)
        return
      case 'tools/list':
        calling.result({ tools: operations.map(({ tool }) => tool), ...kept, ...own })
        return
      case 'tools/call':
        this.#call(exchange, params, operations, calling, own)
        return
      default:
        calling.error(CODES.unknownMethod, 'Method not found')
    }
  }

  #about() {
    const { title, version } = this.#options.document.info
    return { capabilities: { tools: {} }, serverInfo: { name: title, version } }
  }

  #call(
    exchange: Exchange,
    params: Readonly<Record<string, unknown>>,
    operations: readonly Operation[],
    calling: ApiCall,
    own: object,
  ): void {
    const { name, arguments: given = {} } = params
    const operation = operations.find(({ tool }) => tool.name === name)
    if (operation === undefined || !isObject(given)) {
      const what = operation === undefined ? `Unknown tool: ${name}` : 'Invalid params: arguments'
      calling.error(CODES.invalidParams, what)
      return
    }
    const request = requestFor(operation, given)
    if (typeof request === 'string') {
      calling.error(CODES.invalidParams, `Invalid params: ${request}`)
      return
    }
    const start = (prepared: PreparedCall | Reply) => {
      if (calling.isOver) return
      if ('status' in prepared) calling.fail(prepared.status, prepared.reason, prepared.link)
      else calling.begin(this.#open(exchange, request, prepared, calling, own))
    }
    const prepared = this.#options.prepare(exchange)
    if (prepared instanceof Promise) prepared.then(start, () => calling.fail(502, 'policy'))
    else start(prepared)
  }

  #open(
    exchange: Exchange,
    { method, path, headers, body }: ApiRequest,
    prepared: PreparedCall,
    calling: ApiCall,
    own: object,
  ): CallHandle {
    const { open, timeout, idleTimeout } = this.#options
    const { authority, credentialQuery } = prepared
    const joint = path.includes('?') ? '&' : '?'
    const whole = credentialQuery === '' ? path : `${path}${joint}${credentialQuery}`
    // Headers that policies set override those from a client's arguments.
    const set: readonly Header[] = [['accept', 'application/json, */*;q=0.5'], ...headers]
    const names = new Set(prepared.setHeaders)
    const said = set.filter(([name]) => !names.has(name))
    const all = [
      ...said,
      ...prepared.headers.filter(([name]) => !said.some(([one]) => one === name)),
    ]
    const call = { method, path: whole, authority, headers: all, body, timeout, idleTimeout }
    let status = 0
    let fields: readonly Header[] = []
    let size = 0
    const pieces: Uint8Array[] = []
    return open(exchange, call, {
      response: (code, received) => {
        status = code
        fields = received
      },
      data: (bytes) => {
        size += bytes.length
        if (size > MAX_RESPONSE) calling.fail(502, 'response-too-large')
        else pieces.push(Uint8Array.from(bytes))
        return true
      },
      ended: () => {
        const { rejected } = prepared
        if (status === 401 && rejected !== undefined) {
          const tell = (reply: Reply) => calling.fail(reply.status, reply.reason, reply.link)
          rejected().then(tell, () => calling.fail(503, 'policy'))
          return
        }
        const type = fields.find(([name]) => name === 'content-type')?.[1] ?? ''
        calling.result({ ...resultOf(status, type, Buffer.concat(pieces)), ...own })
      },
      failed: (reason) => calling.fail(reason.includes('timeout') ? 504 : 502, reason),
    })
  }
}

function agreed(asked: unknown): string {
  return HANDSHAKE_REVISIONS.find((own) => own === asked) ?? (HANDSHAKE_REVISIONS[0] as string)
}

class ApiCall implements Sending {
  isOver = false
  readonly #events: ServerEvents
  readonly #message: SentMessage
  #handle: CallHandle | undefined

  constructor(events: ServerEvents, message: SentMessage) {
    this.#events = events
    this.#message = message
  }

  begin(handle: CallHandle): void {
    this.#handle = handle
    if (this.isOver) handle.stop()
  }

  stop(): void {
    this.isOver = true
    this.#handle?.stop()
  }

  resume(): void {
    this.#handle?.resume()
  }

  result(result: object): void {
    const { id } = this.#message
    this.#say(`{"jsonrpc":"2.0","id":${id},"result":${JSON.stringify(result)}}`)
  }

  error(code: number, message: string): void {
    this.#say(errorText(this.#message.id, { code, message }))
  }

  fail(status: number, reason: string, link?: string): void {
    if (this.isOver) return
    this.stop()
    this.#events.failed({ status, reason, ...(link === undefined ? {} : { link }) })
  }

  #say(text: string): void {
    if (this.isOver) return
    this.isOver = true
    this.#events.began('message', undefined)
    this.#events.received({ text, block: undefined })
    this.#events.ended()
  }
}
