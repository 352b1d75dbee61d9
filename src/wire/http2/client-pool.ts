import type { Socket } from 'node:net'
import type { Deadlines, Timed } from '../deadlines.ts'
import type { UpstreamConnection } from '../upstream-connection.ts'
import { ClientSession, type SessionEvents } from './client.ts'
import { SESSION_OPTIONS, type SessionOptions } from './client-limits.ts'

/** A request that waits for a stream. */
export interface StreamWaiting {
  connected(connection: UpstreamConnection): void
  unconnected(reason: string): void
}

/**
 * Opens one more connection to the same destination; never calls back before it returns. With
 * `lent`, its bytes may arrive through `lentReadsOf` instead of events.
 */
export type OpenSocket = (
  events: {
    /** `protocol` is the ALPN result, or empty. */
    opened(socket: Socket, protocol: string): void
    failed(reason: string, detail: string): void
  },
  reads?: 'lent',
) => { cancel(): void }

export interface Http2PoolObserver {
  /** A connection is open, and the upstream has sent its settings. */
  opened(milliseconds: number): void
  /** `reason`: why it ended, in one word. */
  closed(reason: string): void
  failed(reason: string, detail: string): void
  shed(reason: 'overloaded' | 'pending-timeout'): void
}

const SILENT: Http2PoolObserver = { opened() {}, closed() {}, failed() {}, shed() {} }

export interface Http2PoolOptions extends SessionOptions {
  /** Max concurrent connections. */
  readonly max: number
  /** Max requests that wait; further ones are rejected at once. */
  readonly maxPending: number
}

const HTTP2_POOL_OPTIONS: Http2PoolOptions = {
  ...SESSION_OPTIONS,
  max: 8,
  maxPending: 1_024,
}

/** Connections to one endpoint that carry many requests each. */
export class Http2Pool implements SessionEvents, Timed {
  /** When the request that has waited longest times out. */
  deadline = Number.POSITIVE_INFINITY
  slot = -1
  readonly #openSocket: OpenSocket
  readonly #options: Http2PoolOptions
  readonly #deadlines: Deadlines
  readonly #observer: Http2PoolObserver
  readonly #sessions = new Set<ClientSession>()
  readonly #greeting = new Set<ClientSession>()
  readonly #dialing = new Set<{ cancel(): void }>()
  /** Waiting requests and their deadlines, in order of arrival. */
  readonly #waiting = new Map<StreamWaiting, number>()

  constructor(
    openSocket: OpenSocket,
    options: Partial<Http2PoolOptions>,
    deadlines: Deadlines,
    observer: Http2PoolObserver = SILENT,
  ) {
    this.#observer = observer
    this.#openSocket = openSocket
    this.#options = { ...HTTP2_POOL_OPTIONS, ...options }
    this.#deadlines = deadlines
  }

  get open(): number {
    return this.#sessions.size
  }

  get waiting(): number {
    return this.#waiting.size
  }

  get dialing(): number {
    return this.#dialing.size + this.#greeting.size
  }

  get isFull(): boolean {
    return this.#waiting.size >= this.#options.maxPending
  }

  /** Returns a stream for one request, or undefined: then call `request`. */
  take(): UpstreamConnection | undefined {
    // Waiting requests come first.
    if (this.#waiting.size > 0) return undefined
    for (const session of this.#sessions) if (session.hasRoom) return session.open()
    return undefined
  }

  /** Sets the addresses of the name: connections to other addresses accept no more streams. */
  follow(addresses: readonly string[]): void {
    for (const session of this.#sessions) if (!addresses.includes(session.address)) session.drain()
  }

  /** Exactly one of the two callbacks follows, unless cancelled. */
  request(waiting: StreamWaiting): void {
    if (this.isFull) {
      this.#observer.shed('overloaded')
      waiting.unconnected('overloaded')
      return
    }
    const until = performance.now() + this.#options.connectTimeout
    if (this.#waiting.size === 0) {
      this.deadline = until
      this.#deadlines.add(this)
    }
    this.#waiting.set(waiting, until)
    this.#openMore()
  }

  cancel(waiting: StreamWaiting): void {
    this.#forget(waiting)
  }

  expire(): void {
    const now = performance.now()
    for (const [waiting, until] of this.#waiting) {
      if (until > now) return
      this.#forget(waiting)
      // Without a connection, there was no turn to wait for: the dialer reports the failure.
      if (this.#sessions.size === 0) waiting.unconnected('connect-timeout')
      else {
        this.#observer.shed('pending-timeout')
        waiting.unconnected('pending-timeout')
      }
    }
  }

  /** Connections close when their streams are over. */
  close(): void {
    for (const session of this.#sessions) session.drain()
  }

  ready(session: ClientSession): void {
    this.#greeting.delete(session)
    this.#sessions.add(session)
    this.#observer.opened(session.age)
    this.freed(session)
    this.#openMore()
  }

  freed(session: ClientSession): void {
    for (const waiting of this.#waiting.keys()) {
      if (!session.hasRoom) return
      this.#forget(waiting)
      waiting.connected(session.open())
    }
  }

  closed(session: ClientSession, reason: string): void {
    if (this.#sessions.delete(session)) this.#observer.closed(reason)
    if (this.#greeting.delete(session)) this.#onFailed(reason, `greeting: ${reason}`)
    else this.#openMore()
  }

  #forget(waiting: StreamWaiting): void {
    if (!this.#waiting.delete(waiting)) return
    const [first] = this.#waiting.values()
    this.deadline = first ?? Number.POSITIVE_INFINITY
    if (first === undefined) this.#deadlines.remove(this)
  }

  /** Opens as many connections as the waiting requests need, within the limit. */
  #openMore(): void {
    const { max, streams } = this.#options
    const needed = Math.ceil(this.#waiting.size / streams)
    // Connections that accept no more streams must not keep new ones from being opened.
    let usable = 0
    for (const session of this.#sessions) if (!session.isRetired) usable++
    while (this.dialing < needed && this.dialing + usable < max) this.#openOne()
  }

  #openOne(): void {
    const dialing = this.#openSocket(
      {
        opened: (socket, protocol) => {
          this.#dialing.delete(dialing)
          if (protocol === 'h2' || protocol === '') {
            this.#greeting.add(new ClientSession(socket, this.#options, this.#deadlines, this))
            return
          }
          socket.on('error', () => {})
          socket.destroy()
          this.#onFailed('alpn', `the server chose ${protocol}`)
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

  /** Waiting requests fail only if there is no other connection, open or being opened. */
  #onFailed(reason: string, detail: string): void {
    this.#observer.failed(reason, detail)
    if (this.dialing + this.#sessions.size > 0) return
    for (const waiting of [...this.#waiting.keys()]) {
      this.#forget(waiting)
      waiting.unconnected(reason)
    }
  }
}
