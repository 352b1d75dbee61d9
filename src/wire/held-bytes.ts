const NO_BYTES = Buffer.alloc(0)
const MIN_CAPACITY = 4_096

/**
 * Received bytes that are still incomplete. A peer that sends them one by one costs at most twice
 * their copying, since the spare room doubles.
 */
export class HeldBytes {
  #bytes: Buffer = NO_BYTES
  #room: Buffer = NO_BYTES

  get length(): number {
    return this.#bytes.length
  }

  get bytes(): Buffer {
    return this.#bytes
  }

  /** Returns the held bytes and releases them. */
  take(): Buffer {
    const bytes = this.#bytes
    this.#bytes = NO_BYTES
    return bytes
  }

  /** Holds the bytes from `at` on; the buffer must not be written to by others. */
  hold(bytes: Buffer, at = 0): void {
    this.#bytes = at === 0 ? bytes : bytes.subarray(at)
  }

  /** Returns the held bytes followed by `more`. */
  join(more: Buffer): Buffer {
    const held = this.#bytes
    this.#bytes = NO_BYTES
    if (held.length === 0) return more
    const length = held.length + more.length
    const isInRoom = held.buffer === this.#room.buffer && held.byteOffset === this.#room.byteOffset
    if (!isInRoom || length > this.#room.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(MIN_CAPACITY, length * 2))
      held.copy(room)
      this.#room = room
    }
    more.copy(this.#room, held.length)
    return this.#room.subarray(0, length)
  }

  clear(): void {
    this.#bytes = NO_BYTES
    this.#room = NO_BYTES
  }
}
