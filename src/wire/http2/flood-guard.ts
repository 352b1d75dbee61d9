import { Allowance, type Flood, type FloodLimits, type Http2Observer } from './limits.ts'

/** How much overhead is counted at a time: a look at the clock costs more than a frame. */
const PORTION = 4_096
/** What we may have caused at most that has not come yet. */
const CREDIT = 65_536

/** The same of PING frames. */
const MAX_PINGS = 64

/** What one connection may be bothered with, besides requests. */
export class FloodGuard {
  readonly #resets: Allowance | undefined
  readonly #pingFrames: Allowance
  readonly #settings: Allowance
  readonly #emptyFrames: Allowance
  readonly #overhead: Allowance
  readonly #observer: Http2Observer
  /** Called once, with the first limit that was broken. */
  readonly #calm: (what: Flood) => void
  /** Bytes that belong to no head or body; below 0 where we caused more than came. */
  #bytes = 0
  /** PING frames that our own writes are good for. */
  #pings = 0

  constructor(limits: FloodLimits, observer: Http2Observer, calm: (what: Flood) => void) {
    this.#resets = limits.resets && new Allowance(limits.resets)
    this.#pingFrames = new Allowance(limits.controlFrames)
    this.#settings = new Allowance(limits.controlFrames)
    this.#emptyFrames = new Allowance(limits.controlFrames)
    this.#overhead = new Allowance(limits.overhead)
    this.#observer = observer
    this.#calm = calm
  }

  /** The client broke a stream off, or did what the protocol makes us break it off for. */
  reset(): void {
    this.#observer.counted('client-reset')
    this.spendReset()
  }

  spendReset(): void {
    if (this.#resets?.spend(1) === false) this.#calm('too-many-resets')
  }

  /** SETTINGS, or the acknowledgement of ours. */
  settings(): void {
    this.#observer.counted('control-frame')
    if (!this.#settings.spend(1)) this.#calm('too-many-settings')
  }

  /** A DATA frame that says nothing. */
  emptyFrame(): void {
    this.#observer.counted('control-frame')
    if (!this.#emptyFrames.spend(1)) this.#calm('too-many-empty-frames')
  }

  /** The response to a PING, of ours or of nobody's. */
  pong(): void {
    this.#observer.counted('control-frame')
    if (!this.#pingFrames.spend(1)) this.#calm('too-many-pings')
  }

  /** A PING: one for each write of ours is how a peer finds out about the way. */
  ping(): void {
    if (this.#pings === 0) {
      this.pong()
      return
    }
    this.#pings--
    this.#observer.counted('control-frame')
  }

  overhead(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes >= PORTION) this.settle()
  }

  /**
   * What we send is answered with WINDOW_UPDATE, 13 bytes for each stream and the connection, and
   * with a PING where it has a head or a body: the answer to a PING must not earn another one.
   */
  expect(bytes: number, hasMessages: boolean): void {
    this.#bytes = Math.max(-CREDIT, this.#bytes - bytes / 8)
    if (hasMessages && this.#pings < MAX_PINGS) this.#pings++
  }

  settle(): void {
    if (this.#bytes <= 0) return
    const bytes = this.#bytes
    this.#bytes = 0
    if (!this.#overhead.spend(bytes)) this.#calm('too-much-overhead')
  }
}
