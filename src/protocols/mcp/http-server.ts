import type { CallHandle, OpenCall } from '../../exchange/call.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { Header } from '../../exchange/header-edit.ts'
import type { Reply } from '../../exchange/reply.ts'
import { EventBlockReader } from './event-blocks.ts'
import { encodeHeaderValue } from './header-value.ts'
import { isModern } from './revisions.ts'
import {
  failureBy,
  type McpServer,
  type Sending,
  type SentMessage,
  type ServerEvents,
  type ServerSession,
  type StreamResume,
} from './server.ts'

/** The target's policies applied to a request: its destination and headers. */
export interface PreparedCall {
  readonly path: string
  readonly authority: string
  readonly headers: readonly Header[]
  /** The part of the query that is a credential: `key=abc`, or empty. */
  readonly credentialQuery: string
  /** Names of headers that policies set, in lowercase. */
  readonly setHeaders: readonly string[]
  /** Called if the server rejects its credential; returns the reply to the client instead. */
  readonly rejected: (() => Promise<Reply>) | undefined
}

export interface HttpServerOptions {
  readonly name: string
  readonly open: OpenCall
  /** Runs the policies of the target; returns a Reply if one of them rejects the request. */
  prepare(exchange: Exchange): PreparedCall | Reply | Promise<PreparedCall | Reply>
  /** How long to wait for a response to begin, in milliseconds. */
  readonly timeout: number
  /** As configured; undefined for a named backend. */
  readonly origin?: string | undefined
}

/** The max length of a response that is not a stream. */
const MAX_MESSAGE = 16 * 1024 * 1024
const STREAM = 'text/event-stream'
const NO_BODY = new Uint8Array()
const encoder = new TextEncoder()

/** A server that speaks Streamable HTTP. */
export class HttpMcpServer<P> implements McpServer<P> {
  readonly name: string
  readonly #options: HttpServerOptions

  constructor(options: HttpServerOptions) {
    this.name = options.name
    this.#options = options
  }

  send(_: P, exchange: Exchange, message: SentMessage, events: ServerEvents): Sending {
    const { session, version, method, name } = message
    const headers: Header[] = [
      ['content-type', 'application/json'],
      ['accept', `application/json, ${STREAM}`],
      ...sessionHeaders(session.id, version),
    ]
    if (isModern(version) && message.kind === 'request') {
      headers.push(['mcp-method', method])
      if (name !== undefined) headers.push(['mcp-name', encodeHeaderValue(name)])
    }
    return this.#call(exchange, 'POST', headers, encoder.encode(message.text), events)
  }

  listen(
    _: P,
    exchange: Exchange,
    session: ServerSession,
    { version, lastEventId }: StreamResume,
    events: ServerEvents,
  ): Sending {
    const headers: Header[] = [['accept', STREAM], ...sessionHeaders(session.id, version)]
    if (lastEventId !== undefined) headers.push(['last-event-id', lastEventId])
    return this.#call(exchange, 'GET', headers, NO_BODY, events)
  }

  end(_: P, exchange: Exchange, session: ServerSession, version: string | undefined): void {
    if (session.id === undefined) return
    this.#call(exchange, 'DELETE', sessionHeaders(session.id, version), NO_BODY, IGNORE_EVENTS)
  }

  #call(
    exchange: Exchange,
    method: string,
    headers: readonly Header[],
    body: Uint8Array,
    events: ServerEvents,
  ): Sending {
    const { open, timeout } = this.#options
    const call = new HttpCall(events)
    const start = (prepared: PreparedCall | Reply) => {
      if (call.isOver) return
      if ('status' in prepared) {
        call.reject(prepared)
        return
      }
      const own = new Set(headers.map(([name]) => name))
      const others = prepared.headers.filter(([name]) => !own.has(name))
      const { path, authority } = prepared
      call.rejected = prepared.rejected
      const all = [...headers, ...others]
      call.begin(open(exchange, { method, path, authority, headers: all, body, timeout }, call))
    }
    const prepared = this.#options.prepare(exchange)
    if (prepared instanceof Promise) {
      prepared.then(start, () => call.failed('policy'))
    } else start(prepared)
    return call
  }
}

function sessionHeaders(id: string | undefined, version: string | undefined): readonly Header[] {
  return [
    ...(id === undefined ? [] : [['mcp-session-id', id] as const]),
    ...(version === undefined ? [] : [['mcp-protocol-version', version] as const]),
  ]
}

const IGNORE_EVENTS: ServerEvents = { began() {}, received: () => true, ended() {}, failed() {} }

/** Headers of an error response that clients act on. */
const KEPT_HEADERS: ReadonlySet<string> = new Set(['www-authenticate', 'retry-after', 'allow'])

class HttpCall implements Sending {
  isOver = false
  readonly #events: ServerEvents
  rejected: (() => Promise<Reply>) | undefined
  #handle: CallHandle | undefined
  #status = 0
  #fields: readonly Header[] = []
  #reader: EventBlockReader | undefined
  #pieces: Uint8Array[] = []
  #size = 0

  constructor(events: ServerEvents) {
    this.#events = events
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

  reject({ status, reason, body, contentType, link }: Reply): void {
    const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
    const said = text === '' ? {} : { body: text, contentType }
    this.#fail({ status, reason, ...said, ...(link === undefined ? {} : { link }) })
  }

  // Socket events: an exception in their handlers concerns only this call.

  response(status: number, fields: readonly Header[]): void {
    this.#guarded(() => this.#respond(status, fields))
  }

  data(bytes: Uint8Array): boolean {
    let goesOn = true
    this.#guarded(() => {
      goesOn = this.#receive(bytes)
    })
    return goesOn
  }

  ended(): void {
    this.#guarded(() => this.#end())
  }

  #guarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#handle?.stop()
      this.isOver = true
      this.#events.failed(failureBy(error))
    }
  }

  #respond(status: number, fields: readonly Header[]): void {
    this.#status = status
    this.#fields = fields
    if (this.#isOk && this.#typeOf() === STREAM) {
      this.#reader = new EventBlockReader()
      this.#events.began('stream', this.#header('mcp-session-id'))
    }
  }

  #receive(bytes: Uint8Array): boolean {
    if (this.isOver) return true
    const reader = this.#reader
    if (reader === undefined) {
      this.#size += bytes.length
      this.#pieces.push(Uint8Array.from(bytes))
      if (this.#size > MAX_MESSAGE) this.#tooLarge()
      return true
    }
    let goesOn = true
    for (const block of reader.push(bytes)) {
      const text = block.data === '' ? undefined : block.data
      goesOn = this.#events.received({ text, block }) && goesOn
      if (this.isOver) return true
    }
    if (reader.isTooLong) this.#tooLarge()
    return goesOn
  }

  #end(): void {
    if (this.isOver) return
    if (this.#reader !== undefined) {
      this.isOver = true
      this.#events.ended()
      return
    }
    const body = Buffer.concat(this.#pieces).toString('utf8')
    if (this.#status === 401 && this.rejected !== undefined) {
      this.rejected().then(
        (own) => this.reject(own),
        () => this.#fail({ status: 503, reason: 'policy' }),
      )
      return
    }
    if (!this.#isOk) {
      const contentType = this.#header('content-type') ?? ''
      const headers = this.#fields.filter(([name]) => KEPT_HEADERS.has(name))
      this.#fail({ status: this.#status, reason: 'server-error', body, contentType, headers })
      return
    }
    this.isOver = true
    const isEmpty = body.trim() === ''
    this.#events.began(isEmpty ? 'accepted' : 'message', this.#header('mcp-session-id'))
    if (!isEmpty) this.#events.received({ text: body, block: undefined })
    this.#events.ended()
  }

  failed(reason: string): void {
    const status = reason.includes('timeout') ? 504 : this.#status === 0 ? 503 : 502
    this.#fail({ status, reason })
  }

  get #isOk(): boolean {
    return this.#status >= 200 && this.#status < 300
  }

  #tooLarge(): void {
    this.#fail({ status: 502, reason: 'response-too-large' })
    this.#handle?.stop()
  }

  #fail(failure: Parameters<ServerEvents['failed']>[0]): void {
    if (this.isOver) return
    this.isOver = true
    this.#events.failed(failure)
  }

  #typeOf(): string {
    const [type = ''] = (this.#header('content-type') ?? '').split(';')
    return type.trim().toLowerCase()
  }

  #header(name: string): string | undefined {
    return this.#fields.find(([own]) => own === name)?.[1]
  }
}
