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
  readonly #priorities: Allowance
  readonly #emptyFrames: Allowance
  readonly #windowUpdates: Allowance
  readonly #overhead: Allowance
  readonly #observer: Http2Observer
  /** Called once, with the first limit that was broken. */
  readonly #calm: (what: Flood) => void
  /** Bytes of WINDOW_UPDATE; below 0 where we caused more than came. */
  #updates = 0
  /** The same of what else belongs to no head or body. */
  #bytes = 0
  /** PING frames that our own writes are good for. */
  #pings = 0

  constructor(limits: FloodLimits, observer: Http2Observer, calm: (what: Flood) => void) {
    this.#resets = limits.resets && new Allowance(limits.resets)
    this.#pingFrames = new Allowance(limits.controlFrames)
    this.#settings = new Allowance(limits.controlFrames)
    this.#priorities = new Allowance(limits.controlFrames)
    this.#emptyFrames = new Allowance(limits.controlFrames)
    this.#windowUpdates = new Allowance(limits.overhead)
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

  /** PRIORITY, or PRIORITY_UPDATE. */
  priority(): void {
    this.#observer.counted('control-frame')
    if (!this.#priorities.spend(1)) this.#calm('too-many-priorities')
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

  windowUpdate(bytes: number): void {
    this.#updates += bytes
    if (this.#updates >= PORTION) this.settle()
  }

  overhead(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes >= PORTION) this.settle()
  }

  /**
   * What we send brings WINDOW_UPDATE, 13 bytes for each stream and the connection, and
   * with a PING where it has a head or a body: the acknowledgement of a PING must not earn another one.
   */
  expect(bytes: number, hasMessages: boolean): void {
    this.#updates = Math.max(-CREDIT, this.#updates - bytes / 8)
    this.#bytes = Math.max(-CREDIT, this.#bytes - bytes / 8)
    if (hasMessages && this.#pings < MAX_PINGS) this.#pings++
  }

  settle(): void {
    const updates = this.#updates
    if (updates > 0) {
      this.#updates = 0
      if (!this.#windowUpdates.spend(updates)) this.#calm('too-many-window-updates')
    }
    const bytes = this.#bytes
    if (bytes > 0) {
      this.#bytes = 0
      if (!this.#overhead.spend(bytes)) this.#calm('too-much-overhead')
    }
  }
}
