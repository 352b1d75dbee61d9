import type { CallHandle, OpenCall } from '../../exchange/call.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { Header } from '../../exchange/header-edit.ts'
import type { Reply } from '../../exchange/reply.ts'
import { type EventBlock, EventBlockReader } from './event-blocks.ts'
import { encodeHeaderValue } from './header-value.ts'
import { readServerMessage } from './message.ts'
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
  /** How long a response to a request may pause, in milliseconds. */
  readonly idleTimeout: number
  /** As configured; undefined for a named backend. */
  readonly origin?: string | undefined
}

/** The max length of a response that is not a stream. */
const MAX_MESSAGE = 16 * 1024 * 1024
/** How long the end of a client's session waits for the server, in milliseconds. */
const MAX_END = 5_000
const STREAM = 'text/event-stream'
const NO_BODY = new Uint8Array()
const encoder = new TextEncoder()
const LINE_END = Buffer.from('\n')
const LINE: EventBlock = { data: '', id: undefined, others: ['event: message'] }

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
    const body = encoder.encode(message.text)
    const isSubscription = method === 'subscriptions/listen'
    // Such a stream lasts as long as its client, and the server may have nothing to say.
    const isStanding = message.kind === 'request' && isSubscription
    const idleTimeout = isStanding ? Number.POSITIVE_INFINITY : this.#options.idleTimeout
    const request = { method: 'POST', headers, body, mayHaveLines: isSubscription, idleTimeout }
    return this.#call(exchange, request, events)
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
    const idleTimeout = Number.POSITIVE_INFINITY
    return this.#call(exchange, { method: 'GET', headers, body: NO_BODY, idleTimeout }, events)
  }

  end(
    _: P,
    exchange: Exchange,
    { id }: ServerSession,
    version: string | undefined,
  ): Promise<boolean> {
    if (id === undefined) return Promise.resolve(true)
    return new Promise((resolve) => {
      const settle = (hasEnded: boolean) => {
        clearTimeout(timer)
        resolve(hasEnded)
      }
      const events: ServerEvents = {
        began() {},
        received: () => true,
        ended: () => settle(true),
        failed: ({ status }) => settle(status === 404),
      }
      const timer = setTimeout(() => {
        call.stop()
        settle(false)
      }, MAX_END)
      const headers = sessionHeaders(id, version)
      const { idleTimeout } = this.#options
      const request = { method: 'DELETE', headers, body: NO_BODY, idleTimeout }
      const call = this.#call(exchange, request, events)
    })
  }

  #call(exchange: Exchange, request: ServerRequest, events: ServerEvents): Sending {
    const { open, timeout } = this.#options
    const { method, headers, body, idleTimeout, mayHaveLines = false } = request
    const call = new HttpCall(events, mayHaveLines)
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
      const sent = { method, path, authority, headers: all, body, timeout, idleTimeout }
      call.begin(open(exchange, sent, call))
    }
    const prepared = this.#options.prepare(exchange)
    if (prepared instanceof Promise) {
      prepared.then(start, () => call.failed('policy'))
    } else start(prepared)
    return call
  }
}

interface ServerRequest {
  readonly method: string
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  /** In milliseconds, for each pause in the response. */
  readonly idleTimeout: number
  /** True if some servers respond with one message per line, in a response that does not end. */
  readonly mayHaveLines?: boolean
}

function sessionHeaders(id: string | undefined, version: string | undefined): readonly Header[] {
  return [
    ...(id === undefined ? [] : [['mcp-session-id', id] as const]),
    ...(version === undefined ? [] : [['mcp-protocol-version', version] as const]),
  ]
}

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
  #mayHaveLines: boolean
  /** True once a whole message was read from a line. */
  #hasLines = false

  constructor(events: ServerEvents, mayHaveLines: boolean) {
    this.#events = events
    this.#mayHaveLines = mayHaveLines
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
      const isLine = this.#mayHaveLines && this.#isOk && bytes.includes(10)
      const goesOn = !isLine || this.#readLines()
      if (this.#size > MAX_MESSAGE) this.#tooLarge()
      return goesOn
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

  /** A message per line; a message of several lines is read when the response is complete. */
  #readLines(isComplete = false): boolean {
    let rest = Buffer.concat(isComplete ? [...this.#pieces, LINE_END] : this.#pieces)
    let goesOn = true
    for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
      const text = rest.subarray(0, at).toString('utf8').trim()
      if (!this.#hasLines && text !== '' && readServerMessage(text).kind === 'unknown') {
        this.#mayHaveLines = false
        return true
      }
      rest = rest.subarray(at + 1)
      if (text === '') continue
      if (!this.#hasLines) this.#events.began('stream', this.#header('mcp-session-id'))
      this.#hasLines = true
      goesOn = this.#events.received({ text, block: LINE }) && goesOn
      if (this.isOver) return true
    }
    this.#pieces = [rest]
    this.#size = rest.length
    return goesOn
  }

  #end(): void {
    if (this.isOver) return
    if (this.#hasLines) {
      this.#readLines(true)
      if (this.isOver) return
      this.isOver = true
      this.#events.ended()
      return
    }
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
