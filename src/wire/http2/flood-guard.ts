import { Allowance, type Flood, type FloodLimits, type Http2Observer } from './limits.ts'

/** Bytes of overhead that are counted together: reading the clock costs more than a frame. */
const PORTION = 4_096
/** Max credit in bytes for expected overhead that has not arrived yet. */
const CREDIT = 65_536

/** The same for PING frames. */
const MAX_PINGS = 64

/** Limits the overhead of one connection, apart from requests. */
export class FloodGuard {
  readonly #resets: Allowance | undefined
  readonly #pingFrames: Allowance
  readonly #settings: Allowance
  readonly #priorities: Allowance
  readonly #emptyFrames: Allowance
  readonly #windowUpdates: Allowance
  readonly #overhead: Allowance
  readonly #observer: Http2Observer
  /** Called with each limit that is exceeded. */
  readonly #calm: (what: Flood) => void
  /** Bytes of WINDOW_UPDATE; negative if the gateway's own frames justify more than arrived. */
  #updates = 0
  /** The same for other bytes that belong to no head or body. */
  #bytes = 0
  /** PING frames that the gateway's own writes justify. */
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

  /** The client reset a stream, or violated the protocol so that the gateway must reset it. */
  reset(): void {
    this.#observer.counted('client-reset')
    this.spendReset()
  }

  spendReset(): void {
    if (this.#resets?.spend(1) === false) this.#calm('too-many-resets')
  }

  /** SETTINGS, or an acknowledgement. */
  settings(): void {
    this.#observer.counted('control-frame')
    if (!this.#settings.spend(1)) this.#calm('too-many-settings')
  }

  /** PRIORITY, or PRIORITY_UPDATE. */
  priority(): void {
    this.#observer.counted('control-frame')
    if (!this.#priorities.spend(1)) this.#calm('too-many-priorities')
  }

  /** A DATA frame without data. */
  emptyFrame(): void {
    this.#observer.counted('control-frame')
    if (!this.#emptyFrames.spend(1)) this.#calm('too-many-empty-frames')
  }

  /** The acknowledgement of a PING, solicited or not. */
  pong(): void {
    this.#observer.counted('control-frame')
    if (!this.#pingFrames.spend(1)) this.#calm('too-many-pings')
  }

  /** A PING: peers send one per received write to estimate bandwidth. */
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
   * Written bytes cause WINDOW_UPDATE frames, 13 bytes for each stream and the connection, and a
   * PING if they contain a head or a body: the acknowledgement of a PING must not justify another
   * one.
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
