import { HeldBytes } from './held-bytes.ts'

const NO_BYTES = Buffer.alloc(0)

interface Piece {
  readonly bytes: Buffer
  /** The number of the buffer that it is in, or -1: it is a copy. */
  readonly buffer: number
}

/**
 * Bytes of a body that nobody takes yet, in the order in which they came. Long ones stay where they
 * were read to: to copy them would be cheap, but not the memory for it, which large uploads would
 * have the garbage collector look for all the time.
 */
export class HeldBody {
  length = 0
  /** How many pieces are in buffers that somebody lent. */
  lent = 0
  /** In which of those the last piece is that was taken; -1: in none. */
  buffer = -1
  // Most bodies are never held.
  #pieces: Piece[] | undefined = undefined
  /** Behind the pieces: each may have one byte, and they wait together, not one by one. */
  #tail: HeldBytes | undefined = undefined

  /** `buffer`: nobody writes to the one of this number before `lent` says so; -1: it is copied. */
  hold(bytes: Buffer, buffer: number): void {
    this.length += bytes.length
    if (buffer < 0) {
      this.#tail ??= new HeldBytes()
      const tail = this.#tail
      tail.hold(tail.length === 0 ? Buffer.from(bytes) : tail.join(bytes), 0)
      return
    }
    this.#pieces ??= []
    const before = this.#tail?.take()
    if (before !== undefined && before.length > 0) this.#pieces.push({ bytes: before, buffer: -1 })
    this.#pieces.push({ bytes, buffer })
    this.lent++
  }

  /** The first piece, which is not held any longer; of nothing, no bytes. */
  take(): Buffer {
    const piece = this.#pieces?.shift()
    const bytes = piece?.bytes ?? this.#tail?.take() ?? NO_BYTES
    this.buffer = piece?.buffer ?? -1
    if (this.buffer >= 0) this.lent--
    this.length -= bytes.length
    return bytes
  }

  /** Returns how many bytes there were. */
  clear(): number {
    const { length } = this
    this.#pieces = undefined
    this.#tail = undefined
    this.length = 0
    this.lent = 0
    return length
  }
}
