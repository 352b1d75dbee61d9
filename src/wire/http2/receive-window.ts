import { DEFAULT_WINDOW } from './protocol.ts'

/** Bytes that all connections of a process may be granted beyond their windows. */
export const MAX_EXTENDED = 33_554_432
/** A look at all streams is worth a 64th of the window, so that small frames cost no more of them. */
const LOOKS = 64

let extended = 0

/**
 * What a peer may send on all streams of a connection together. What streams hold takes part of it,
 * and must not keep the others from going on: a body that waits for a backend could wait for one
 * whose turn it is and that has no window left. So it is extended then, as far as there is memory.
 */
export class ReceiveWindow {
  readonly #size: number
  /** Bytes that the peer may still send. */
  #left: number
  /** Bytes that were taken, and that the peer was not told of. */
  #returned = 0
  /** Bytes that it was granted beyond its size. */
  #extended = 0
  /** Below this much it is worth a look whether a stream is kept waiting. */
  #nextLook: number

  constructor(size: number) {
    this.#size = size
    this.#left = Math.max(size, DEFAULT_WINDOW)
    this.#nextLook = size / 4
  }

  /** Bytes that all windows of the process together are beyond their size. */
  static get extended(): number {
    return extended
  }

  /** False: the peer sent more than it may. */
  spend(length: number): boolean {
    if (length > this.#left) return false
    this.#left -= length
    return true
  }

  /** So many bytes are not held any longer. Returns by how much the peer is told to go on, or 0. */
  giveBack(length: number): number {
    this.#returned += length
    const surplus = Math.min(this.#extended, this.#left + this.#returned - this.#size)
    if (surplus > 0) {
      this.#returned -= surplus
      this.#shrink(surplus)
    }
    // Half of what is not held at a time. Half of all would never come where streams hold the rest.
    return this.#returned < this.#left ? 0 : this.#grant()
  }

  /**
   * Bytes came. Returns by how much the peer is told to go on, or 0: what was taken before must not
   * be forgotten where all that is left is then held.
   */
  due(): number {
    return this.#returned > this.#left ? this.#grant() : 0
  }

  /** Whether streams hold so much that one that takes its bytes may be kept waiting. */
  isScarce(): boolean {
    const available = this.#left + this.#returned
    if (available > this.#nextLook) return false
    this.#nextLook = available - this.#size / LOOKS
    return true
  }

  /** A stream is kept waiting. Returns by how much the peer is told to go on, or 0. */
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
