// HOT PATH: take() and the way back of a connection, once per request. Guarded by bench/upstream.ts.

import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../wire/deadlines.ts'
import { eventTime } from '../wire/event-clock.ts'
import { ClientConnection } from '../wire/http1/client-connection.ts'
import { HEAD_LIMITS, type HeadLimits } from '../wire/http1/message.ts'
import { type Dial, type DialEvents, type Dialing, dialer } from './connect.ts'
import type { ConnectFailure } from './connect-failure.ts'
import { LinkedList } from './linked-list.ts'
import { idleUntil, isTrusted, Pending, Pooled } from './pooled.ts'

/** Times are milliseconds; Infinity: no limit. */
export interface PoolOptions {
  /** How long an unused connection is kept. */
  readonly idleTimeout: number
  /** How long a request waits for a connection, be it opened or set free. */
  readonly connectTimeout: number
  /** Connections at the same time. */
  readonly max: number
  /** Requests that wait for a connection; what comes beyond is rejected at once. */
  readonly maxPending?: number
  readonly maxRequestsPerConnection?: number
  /** After about so long a connection makes room for one to where the name leads by then. */
  readonly maxAge?: number
  /** Of the heads of responses. */
  readonly head?: HeadLimits
}

const DEFAULTS = {
  maxPending: 1_024,
  maxRequestsPerConnection: Number.POSITIVE_INFINITY,
  maxAge: 3_600_000,
  head: HEAD_LIMITS,
}

export type PoolFailure = ConnectFailure | 'overloaded' | 'pending-timeout'

/** Who waits for a connection. */
export interface Waiting {
  connected(connection: ClientConnection): void
  unconnected(reason: PoolFailure): void
}

/** Whom a pool tells what happens to connections. */
/** For what a connection of HTTP/2 was ended: the protocol or a limit that the endpoint broke. */
export type Http2Offence = 'protocol' | 'control-frames' | 'overhead' | 'ping-timeout'

export interface PoolObserver {
  opened(milliseconds: number, protocol?: 'http2'): void
  offended?(offence: Http2Offence): void
  closed(): void
  failed(reason: ConnectFailure, detail: string): void
  shed(reason: 'overloaded' | 'pending-timeout'): void
}

/** Turns a socket into something that requests can be sent on; a word where it speaks another tongue. */
export type Speak = (socket: Socket, protocol: string) => ClientConnection | ConnectFailure

/**
 * Connections to one endpoint. The last one used is the first to be used again, so that those
 * which load no longer needs grow old and close.
 */
export class Pool implements Timed {
  /** When the one that waits longest gives up. */
  deadline = Number.POSITIVE_INFINITY
  slot = -1
  readonly #dial: Dial
  readonly #options: Required<PoolOptions>
  readonly #deadlines: Deadlines
  readonly #observer: PoolObserver
  readonly #speak: Speak
  readonly #idle = new LinkedList<Pooled>()
  readonly #queue = new LinkedList<Pending>()
  readonly #pending = new Map<Waiting, Pending>()
  readonly #dialing = new Set<Dialing>()
  #open = 0
  /** Connections for bytes on their way. */
  #raw = 0
  /** Undefined where there is no name that could lead elsewhere. */
  #addresses: ReadonlySet<string> | undefined = undefined
  #isClosing = false
  #isServing = false

  constructor(
    dial: Dial,
    options: PoolOptions,
    deadlines: Deadlines,
    observer: PoolObserver = SILENT,
    speak: Speak = http1(deadlines, options.head),
  ) {
    this.#dial = dial
    this.#options = { ...DEFAULTS, ...options }
    this.#deadlines = deadlines
    this.#observer = observer
    this.#speak = speak
  }

  get open(): number {
    return this.#open
  }

  get idle(): number {
    return this.#idle.size
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Whoever asks now is rejected. */
  get isFull(): boolean {
    const { max, maxPending } = this.#options
    // Who waits for a connection that is being opened for it does not wait for one of others. Where
    // there may be any number of connections, all who wait count: the endpoint may be silent.
    const own = Number.isFinite(max) ? Math.max(0, max - this.#open - this.#raw) : 0
    return this.#queue.size >= maxPending + own
  }

  /** Connections on their way. */
  get dialing(): number {
    return this.#dialing.size + this.#raw
  }

  /**
   * A connection that is free now, or undefined: then ask for one to be opened. A request that
   * cannot be repeated gets none that the endpoint may have closed meanwhile.
   */
  take(isRepeatable = true): ClientConnection | undefined {
    // Whoever waits was here before.
    if (this.#queue.size > 0) return undefined
    return this.#takeIdle(isRepeatable)
  }

  /** Where the name leads now: connections to other addresses close as soon as they are idle. */
  follow(addresses: readonly string[]): void {
    this.#addresses = new Set(addresses)
    for (let left = this.#idle.size; left > 0; left--) {
      const pooled = this.#idle.shift()
      if (pooled === undefined) return
      if (this.#addresses.has(pooled.address)) this.#idle.push(pooled.link)
      else pooled.connection.abort()
    }
  }

  /** Asks for a connection. Exactly one of the two calls follows, unless cancelled. */
  request(waiting: Waiting): void {
    if (this.isFull) {
      this.#observer.shed('overloaded')
      waiting.unconnected('overloaded')
      return
    }
    const pending = new Pending(waiting, performance.now() + this.#options.connectTimeout)
    this.#queue.push(pending.link)
    this.#pending.set(waiting, pending)
    if (this.#queue.size === 1) {
      this.deadline = pending.deadline
      this.#deadlines.add(this)
    }
    if (this.#idle.size > 0) this.#serveSoon()
    this.#openMore()
  }

  cancel(waiting: Waiting): void {
    const pending = this.#pending.get(waiting)
    if (pending === undefined) return
    this.#forget(pending)
    // A connection that nobody waits for is no longer opened: clients that come and go while the
    // endpoint is silent must not leave a heap of them.
    if (this.#dialing.size <= this.#queue.size) return
    const [surplus] = this.#dialing
    if (surplus === undefined) return
    this.#dialing.delete(surplus)
    surplus.cancel()
  }

  /** A connection for bytes instead of requests; it counts as one of the pool's until it closes. */
  connect(events: DialEvents): Dialing {
    const begun = performance.now()
    if (this.#open + this.#raw + this.#dialing.size >= this.#options.max) {
      this.#observer.shed('overloaded')
      const soon = setImmediate(() => events.failed('connect-refused', 'too many connections'))
      return { cancel: () => clearImmediate(soon) }
    }
    this.#raw++
    let isOver = false
    const over = () => {
      if (!isOver) this.#raw--
      isOver = true
    }
    const dialing = this.#dial({
      opened: (socket, protocol) => {
        over()
        this.#onOpen(begun)
        socket.once('close', () => this.#onGone())
        events.opened(socket, protocol)
      },
      failed: (reason, detail) => {
        over()
        this.#observer.failed(reason, detail)
        events.failed(reason, detail)
        this.#openMore()
      },
    })
    const cancel = () => {
      over()
      dialing.cancel()
      this.#openMore()
    }
    return { cancel }
  }

  /** Idle connections close now, the others when their request is over. */
  close(): void {
    this.#isClosing = true
    for (let one = this.#idle.pop(); one !== undefined; one = this.#idle.pop()) {
      one.connection.abort()
    }
  }

  expire(): void {
    const now = performance.now()
    for (let one = this.#queue.first; one !== undefined; one = this.#queue.first) {
      if (one.deadline > now) break
      this.#forget(one)
      this.#observer.shed('pending-timeout')
      one.waiting.unconnected('pending-timeout')
    }
  }

  #takeIdle(isRepeatable: boolean): ClientConnection | undefined {
    if (this.#idle.size === 0) return undefined
    const now = eventTime()
    for (;;) {
      const pooled = this.#idle.pop()
      if (pooled === undefined) return undefined
      const { connection } = pooled
      // Between the destruction of a socket and the news of it anything may run, this too.
      if (connection.isClosed || !connection.socket.writable) continue
      if (connection.deadline <= now || (!isRepeatable && !isTrusted(pooled, now))) {
        connection.abort()
        continue
      }
      connection.deadline = Number.POSITIVE_INFINITY
      pooled.requests++
      return connection
    }
  }

  #free(pooled: Pooled): void {
    const { connection } = pooled
    const now = eventTime()
    const { idleTimeout, maxRequestsPerConnection } = this.#options
    const until = Math.min(idleUntil(pooled, now, idleTimeout), pooled.retireAt)
    const hasMoved = this.#addresses?.has(pooled.address) === false
    const isSpent = pooled.requests >= maxRequestsPerConnection || now >= until || hasMoved
    if (isSpent || (this.#isClosing && this.#queue.size === 0)) {
      connection.abort()
      return
    }
    connection.deadline = until
    pooled.idleSince = now
    this.#idle.push(pooled.link)
    if (this.#queue.size > 0) this.#serveSoon()
  }

  /**
   * Not at once: the connection is still reading what it was given. Should more stand there than
   * the response, it must meet nobody: it would be taken for the response to a request that was not sent.
   */
  #serveSoon(): void {
    if (this.#isServing) return
    this.#isServing = true
    process.nextTick(() => {
      this.#isServing = false
      this.#serve()
    })
  }

  #serve(): void {
    while (this.#queue.size > 0) {
      const connection = this.#takeIdle(true)
      if (connection === undefined) return
      const pending = this.#queue.first as Pending
      this.#forget(pending)
      pending.waiting.connected(connection)
    }
  }

  #forget(pending: Pending): void {
    this.#queue.remove(pending.link)
    this.#pending.delete(pending.waiting)
    const first = this.#queue.first
    this.deadline = first?.deadline ?? Number.POSITIVE_INFINITY
    if (first === undefined) this.#deadlines.remove(this)
  }

  /** As many connections on their way as there are requests that wait, within the limit. */
  #openMore(): void {
    const { max } = this.#options
    while (
      this.#dialing.size < this.#queue.size - this.#idle.size &&
      this.#open + this.#raw + this.#dialing.size < max
    ) {
      this.#openOne()
    }
  }

  #openOne(): void {
    const begun = performance.now()
    const dialing = this.#dial(
      {
        opened: (socket, protocol) => {
          this.#dialing.delete(dialing)
          this.#onOpen(begun)
          this.#welcome(socket, protocol)
        },
        failed: (reason, detail) => {
          this.#dialing.delete(dialing)
          this.#onFailed(reason, detail)
        },
      },
      'lent',
    )
    this.#dialing.add(dialing)
  }

  #welcome(socket: Socket, protocol: string): void {
    const connection = this.#speak(socket, protocol)
    if (typeof connection === 'string') {
      socket.on('error', () => {})
      socket.destroy()
      this.#open--
      this.#observer.closed()
      this.#onFailed(connection, `the endpoint uses ${protocol}`)
      return
    }
    const age = this.#options.maxAge * (0.9 + 0.2 * Math.random())
    const pooled = new Pooled(connection, performance.now() + age)
    connection.onIdle = () => this.#free(pooled)
    connection.onClose = () => {
      this.#idle.remove(pooled.link)
      this.#onGone()
    }
    const first = this.#queue.first
    if (first === undefined) {
      this.#free(pooled)
      return
    }
    this.#forget(first)
    pooled.requests++
    first.waiting.connected(connection)
  }

  #onOpen(begun: number): void {
    this.#open++
    this.#observer.opened(performance.now() - begun)
  }

  #onGone(): void {
    this.#open--
    this.#observer.closed()
    this.#openMore()
  }

  #onFailed(reason: ConnectFailure, detail: string): void {
    this.#observer.failed(reason, detail)
    // While others are on their way for everybody who waits, nobody has to know.
    const first = this.#dialing.size < this.#queue.size ? this.#queue.first : undefined
    if (first !== undefined) {
      this.#forget(first)
      first.waiting.unconnected(reason)
    }
    this.#openMore()
  }
}

const SILENT: PoolObserver = { opened() {}, closed() {}, failed() {}, shed() {} }

/** HTTP/1.1, the one that may go unsaid. */
function http1(deadlines: Deadlines, limits?: HeadLimits): Speak {
  return (socket, protocol) =>
    protocol === '' || protocol.startsWith('http/1.')
      ? new ClientConnection(socket, deadlines, limits)
      : 'alpn'
}

/** One address in the clear, without a name to look up. */
export function tcpSocket(host: string, port: number, timeout = 10_000): Dial {
  return dialer(
    { kind: 'tcp', host, port },
    {
      timeout,
      keepalive: { enabled: false, time: 0, interval: 0, retries: 0 },
      tls: undefined,
      rejectsLocal: false,
      resolve: (name) => [{ address: name, family: name.includes(':') ? 6 : 4 }],
    },
  )
}
