// HOT PATH: take() and the return of a connection, once per request. Guarded by bench/upstream.ts.

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
  /** How long a request waits for a connection, whether it is opened or released. */
  readonly connectTimeout: number
  /** Max concurrent connections. */
  readonly max: number
  /** Max requests that wait for a connection; further ones are rejected at once. */
  readonly maxPending?: number
  readonly maxRequestsPerConnection?: number
  /** The approximate age at which a connection is replaced, so that DNS changes take effect. */
  readonly maxAge?: number
  /** Limits for response heads. */
  readonly head?: HeadLimits
}

const DEFAULTS = {
  maxPending: 1_024,
  maxRequestsPerConnection: Number.POSITIVE_INFINITY,
  maxAge: 3_600_000,
  head: HEAD_LIMITS,
}

export type PoolFailure = ConnectFailure | 'overloaded' | 'pending-timeout'

/** A request that waits for a connection. */
export interface Waiting {
  connected(connection: ClientConnection): void
  unconnected(reason: PoolFailure): void
}

/** Why an HTTP/2 connection was ended: the endpoint violated the protocol or a limit. */
export type Http2Offence = 'protocol' | 'control-frames' | 'overhead' | 'ping-timeout'

export interface PoolObserver {
  opened(milliseconds: number, protocol?: 'http2'): void
  offended?(offence: Http2Offence): void
  closed(): void
  failed(reason: ConnectFailure, detail: string): void
  shed(reason: 'overloaded' | 'pending-timeout'): void
}

/** Wraps a socket in a connection for requests; returns a failure on a protocol mismatch. */
export type Speak = (socket: Socket, protocol: string) => ClientConnection | ConnectFailure

/**
 * Connections to one endpoint. The last one used is reused first, so that surplus connections grow
 * idle and close.
 */
export class Pool implements Timed {
  /** When the request that has waited longest times out. */
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
  /** Connections for raw bytes that are being opened. */
  #raw = 0
  /** Undefined if there is no name to resolve. */
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

  /** Whether further requests are rejected. */
  get isFull(): boolean {
    const { max, maxPending } = this.#options
    // Requests whose own connection is being opened do not count, unless the number of connections
    // is unlimited: the endpoint may be silent.
    const own = Number.isFinite(max) ? Math.max(0, max - this.#open - this.#raw) : 0
    return this.#queue.size >= maxPending + own
  }

  /** Number of connections being opened. */
  get dialing(): number {
    return this.#dialing.size + this.#raw
  }

  /**
   * Returns a free connection, or undefined: then call `request`. Requests that cannot be repeated
   * never get a connection that the endpoint may have closed in the meantime.
   */
  take(isRepeatable = true): ClientConnection | undefined {
    // Waiting requests come first.
    if (this.#queue.size > 0) return undefined
    return this.#takeIdle(isRepeatable)
  }

  /** Sets the addresses of the name: connections to other addresses close when they are idle. */
  follow(addresses: readonly string[]): void {
    this.#addresses = new Set(addresses)
    for (let left = this.#idle.size; left > 0; left--) {
      const pooled = this.#idle.shift()
      if (pooled === undefined) return
      if (this.#addresses.has(pooled.address)) this.#idle.push(pooled.link)
      else pooled.connection.abort()
    }
  }

  /** Requests a connection. Exactly one of the two callbacks follows, unless cancelled. */
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
    // Cancels a surplus attempt: clients that come and go while the endpoint is silent must not
    // pile up attempts.
    if (this.#dialing.size <= this.#queue.size) return
    const [surplus] = this.#dialing
    if (surplus === undefined) return
    this.#dialing.delete(surplus)
    surplus.cancel()
  }

  /** Opens a connection for raw bytes; it counts towards the pool's limit until it closes. */
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

  /** Closes idle connections now, the others when their request is over. */
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
      // This can run after a socket is destroyed and before its `close` event.
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
   * Deferred: the connection is still reading. Bytes after the response must not be taken for the
   * response to a request that was not sent yet.
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

  /** Opens connections for all waiting requests, within the limit. */
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
    // Report the failure only if there are more waiting requests than connection attempts.
    const first = this.#dialing.size < this.#queue.size ? this.#queue.first : undefined
    if (first !== undefined) {
      this.#forget(first)
      first.waiting.unconnected(reason)
    }
    this.#openMore()
  }
}

const SILENT: PoolObserver = { opened() {}, closed() {}, failed() {}, shed() {} }

/** HTTP/1.1, the default if ALPN selects no protocol. */
function http1(deadlines: Deadlines, limits?: HeadLimits): Speak {
  return (socket, protocol) =>
    protocol === '' || protocol.startsWith('http/1.')
      ? new ClientConnection(socket, deadlines, limits)
      : 'alpn'
}

/** One plaintext address, without name resolution. */
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
