import type { CallHandle } from '../../exchange/call.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { Header } from '../../exchange/header-edit.ts'
import type { Reply } from '../../exchange/reply.ts'
import { EventBlockReader } from './event-blocks.ts'
import type { ChannelEvents, OpenChannel } from './held-server.ts'
import type { Channel } from './held-session.ts'
import type { HttpServerOptions, PreparedCall } from './http-server.ts'

/** The max streams of one server at once; each session has one. */
export const MAX_STREAMS = 10_000

/** The transport of 2024-11-05: a stream of events, which provides the URL for messages. */
export function sseChannels(options: HttpServerOptions): OpenChannel {
  return (exchange, events) => new SseChannel(options, exchange, events)
}

/** The max messages that wait for the URL. */
const MAX_WAITING = 64
const STREAM = 'text/event-stream'
const NO_BODY = new Uint8Array()
const encoder = new TextEncoder()

class SseChannel implements Channel {
  readonly #options: HttpServerOptions
  readonly #events: ChannelEvents
  readonly #reader = new EventBlockReader()
  #handle: CallHandle | undefined
  /** The path for messages, once the server has sent it. */
  #path: string | undefined
  #base = ''
  #waiting: (readonly [text: string, exchange: Exchange])[] = []
  #isStream = false
  #isOver = false

  constructor(options: HttpServerOptions, exchange: Exchange, events: ChannelEvents) {
    this.#options = options
    this.#events = events
    this.#prepared(exchange, (prepared) => {
      this.#base = prepared.path
      this.#open(exchange, prepared)
    })
  }

  write(text: string, exchange: Exchange): boolean {
    if (this.#isOver) return false
    if (this.#path === undefined) return this.#waiting.push([text, exchange]) <= MAX_WAITING
    this.#post(text, exchange, this.#path)
    return true
  }

  close(): void {
    this.#isOver = true
    this.#handle?.stop()
  }

  #prepared(exchange: Exchange, go: (prepared: PreparedCall) => void): void {
    const start = (prepared: PreparedCall | Reply) => {
      if (this.#isOver) return
      if ('status' in prepared) this.#over(prepared.reason, prepared)
      else go(prepared)
    }
    const prepared = this.#options.prepare(exchange)
    if (prepared instanceof Promise) prepared.then(start, () => this.#over('policy'))
    else start(prepared)
  }

  #open(exchange: Exchange, prepared: PreparedCall): void {
    const { open, timeout } = this.#options
    const headers = merged([['accept', STREAM]], prepared.headers)
    const { path, authority } = prepared
    // The stream lasts as long as its session, and the server may have nothing to say.
    const idleTimeout = Number.POSITIVE_INFINITY
    const call = { method: 'GET', path, authority, headers, body: NO_BODY, timeout, idleTimeout }
    const handle = open(exchange, call, {
      response: (status, fields) => {
        const type = fields.find(([name]) => name === 'content-type')?.[1] ?? ''
        this.#isStream = status === 200 && type.toLowerCase().startsWith(STREAM)
        if (!this.#isStream) this.#rejected(status, prepared)
      },
      data: (bytes) => {
        this.#read(bytes)
        return true
      },
      ended: () => this.#over('stream-ended'),
      failed: (reason) => this.#over(reason),
    })
    this.#handle = handle
    if (this.#isOver) handle.stop()
  }

  #read(bytes: Uint8Array): void {
    if (this.#isOver || !this.#isStream) return
    for (const { data, others } of this.#reader.push(bytes)) {
      if (data === undefined) continue
      const [, event = 'message'] = /^event: ?(.*)$/.exec(others.find(isEvent) ?? '') ?? []
      if (event === 'endpoint') this.#locate(data)
      else if (event === 'message') this.#events.message(data)
      if (this.#isOver) return
    }
    if (this.#reader.isTooLong) this.#over('response-too-large')
  }

  /** The URL must be on the server itself: another host would receive data meant only for it. */
  #locate(data: string): void {
    const base = new URL(this.#base, 'http://server.invalid')
    const url = URL.canParse(data, base) ? new URL(data, base) : undefined
    const isAbsolute = /^[a-z][a-z0-9+.-]*:|^\/\//i.test(data)
    if (url === undefined || (isAbsolute && !this.#isOwn(url))) {
      this.#over('foreign-endpoint')
      return
    }
    const path = `${url.pathname}${url.search}`
    this.#path = path
    for (const [text, exchange] of this.#waiting.splice(0)) this.#post(text, exchange, path)
  }

  #isOwn({ host, hostname, protocol }: URL): boolean {
    const { origin } = this.#options
    if (origin === undefined || !/^https?:$/.test(protocol)) return false
    return new URL(origin).host === host || new URL(origin).hostname === hostname
  }

  #post(text: string, exchange: Exchange, path: string): void {
    this.#prepared(exchange, (prepared) => {
      const { open, timeout, idleTimeout } = this.#options
      const headers = merged([['content-type', 'application/json']], prepared.headers)
      const { authority, credentialQuery } = prepared
      const joint = path.includes('?') ? '&' : '?'
      const whole = credentialQuery === '' ? path : `${path}${joint}${credentialQuery}`
      const body = encoder.encode(text)
      const call = { method: 'POST', path: whole, authority, headers, body, timeout, idleTimeout }
      open(exchange, call, {
        // A server that does not accept a message will not respond to it.
        response: (status) => {
          if (status < 200 || status > 299) this.#rejected(status, prepared)
        },
        data: () => true,
        ended() {},
        failed: (reason) => this.#over(reason),
      })
    })
  }

  #rejected(status: number, { rejected }: PreparedCall): void {
    const why = `status-${status}`
    if (status !== 401 || rejected === undefined) this.#over(why)
    else
      rejected().then(
        (reply) => this.#over(why, reply),
        () => this.#over(why),
      )
  }

  #over(why: string, reply?: Reply): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#handle?.stop()
    this.#events.ended(why, reply)
  }
}

const isEvent = (line: string) => line.startsWith('event:')

function merged(own: readonly Header[], others: readonly Header[]): readonly Header[] {
  const names = new Set(own.map(([name]) => name))
  return [...own, ...others.filter(([name]) => !names.has(name))]
}
