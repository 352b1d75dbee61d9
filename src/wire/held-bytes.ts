const NO_BYTES = Buffer.alloc(0)
const SMALLEST = 4_096

/**
 * Bytes that were received and cannot be understood yet. A peer that sends them one by one costs
 * no more than twice their copying, since there is always room for as many again.
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

  /** What is held, and no longer is. */
  take(): Buffer {
    const bytes = this.#bytes
    this.#bytes = NO_BYTES
    return bytes
  }

  /** From `at` on; the buffer must not be written to by anybody else. */
  hold(bytes: Buffer, at = 0): void {
    this.#bytes = at === 0 ? bytes : bytes.subarray(at)
  }

  /** What was held with what came now behind it. */
  join(more: Buffer): Buffer {
    const held = this.#bytes
    this.#bytes = NO_BYTES
    if (held.length === 0) return more
    const length = held.length + more.length
    const isInRoom = held.buffer === this.#room.buffer && held.byteOffset === this.#room.byteOffset
    if (!isInRoom || length > this.#room.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(SMALLEST, length * 2))
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
