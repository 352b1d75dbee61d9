import { DEFAULT_WINDOW } from './protocol.ts'

/** Bytes that all connections of a process may be granted beyond their windows. */
export const MAX_EXTENDED = 33_554_432
/**
 * All streams are checked once per 64th of the window, so that small frames cause no more checks.
 */
const LOOKS = 64

let extended = 0

/**
 * The receive window for all streams of a connection. Bytes held by streams take part of it, and
 * must not block other streams: a body that waits for a backend could wait for a stream that is
 * being read and has no window left. In that case the window is extended, within the memory limit.
 */
export class ReceiveWindow {
  readonly #size: number
  /** Bytes that the peer may still send. */
  #left: number
  /** Bytes that were consumed, but not yet announced to the peer. */
  #returned = 0
  /** Bytes that it was granted beyond its size. */
  #extended = 0
  /** Below this many bytes, streams are checked for being blocked. */
  #nextLook: number

  constructor(size: number) {
    this.#size = size
    this.#left = Math.max(size, DEFAULT_WINDOW)
    this.#nextLook = size / 4
  }

  /** Bytes by which all windows of the process together exceed their size. */
  static get extended(): number {
    return extended
  }

  /** Returns false if the peer exceeded the window. */
  spend(length: number): boolean {
    if (length > this.#left) return false
    this.#left -= length
    return true
  }

  /** Releases held bytes. Returns the increment to announce to the peer, or 0. */
  giveBack(length: number): number {
    this.#returned += length
    const surplus = Math.min(this.#extended, this.#left + this.#returned - this.#size)
    if (surplus > 0) {
      this.#returned -= surplus
      this.#shrink(surplus)
    }
    // Grants half of what is not held at a time. Half of the whole window might never be returned
    // while streams hold the rest.
    return this.#returned < this.#left ? 0 : this.#grant()
  }

  /**
   * Called when bytes arrive. Returns the increment to announce to the peer, or 0: consumed bytes
   * must not stay unannounced if streams then hold all that is left.
   */
  due(): number {
    return this.#returned > this.#left ? this.#grant() : 0
  }

  /** Whether streams hold so much that a stream that consumes its bytes may be blocked. */
  isScarce(): boolean {
    const available = this.#left + this.#returned
    if (available > this.#nextLook) return false
    this.#nextLook = available - this.#size / LOOKS
    return true
  }

  /** A stream is blocked. Returns the increment to announce to the peer, or 0. */
  extend(): number {
    if (this.#left + this.#returned > this.#size / 4) return 0
    const more = Math.min(Math.ceil(this.#size / 2), MAX_EXTENDED - extended)
    extended += more
    this.#extended += more
    this.#returned += more
    return this.#returned === 0 ? 0 : this.#grant()
  }

  /** The connection is closed. */
  close(): void {
    this.#shrink(this.#extended)
  }

  #shrink(bytes: number): void {
    this.#extended -= bytes
    extended -= bytes
  }

  #grant(): number {
    const growth = this.#returned
    this.#left += growth
    this.#returned = 0
    this.#nextLook = this.#size / 4
    return growth
  }
}
