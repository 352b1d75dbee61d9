import { HeldBytes } from './held-bytes.ts'

const NO_BYTES = Buffer.alloc(0)

interface Piece {
  readonly bytes: Buffer
  /** The number of its read buffer, or -1 for a copy. */
  readonly buffer: number
}

/**
 * Body bytes that have not been consumed yet, in order of arrival. Long pieces stay in their read
 * buffer: copying would be cheap, but allocating the memory for it would keep the garbage collector
 * busy during large uploads.
 */
export class HeldBody {
  length = 0
  /** Number of pieces in lent buffers. */
  lent = 0
  /** The number of the buffer that holds the last taken piece; -1: none. */
  buffer = -1
  // Most bodies are never held.
  #pieces: Piece[] | undefined = undefined
  /** Bytes after the pieces: pieces may have one byte each, so they are joined. */
  #tail: HeldBytes | undefined = undefined

  /** `buffer`: not written to as long as `lent` counts the piece; -1: the bytes are copied. */
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

  /** Removes and returns the first piece; empty if there is none. */
  take(): Buffer {
    const piece = this.#pieces?.shift()
    const bytes = piece?.bytes ?? this.#tail?.take() ?? NO_BYTES
    this.buffer = piece?.buffer ?? -1
    if (this.buffer >= 0) this.lent--
    this.length -= bytes.length
    return bytes
  }

  /** Returns the number of discarded bytes. */
  clear(): number {
    const { length } = this
    this.#pieces = undefined
    this.#tail = undefined
    this.length = 0
    this.lent = 0
    return length
  }
}
