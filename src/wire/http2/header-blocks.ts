import { HeldBytes } from '../held-bytes.ts'
import {
  END_HEADERS,
  ENHANCE_YOUR_CALM,
  HAS_PRIORITY,
  NO_ERROR,
  PADDED,
  PROTOCOL_ERROR,
} from './protocol.ts'

/** Max frames and bytes of one block. */
export const MAX_FRAMES = 64
const MAX_BYTES = 65_536

/** Assembles a header block from HEADERS and any number of CONTINUATION frames. */
export class HeaderBlocks {
  /** The stream with an incomplete block, or 0: until it is complete, no other frame is allowed. */
  stream = 0
  /** The flags of the HEADERS frame. */
  flags = 0
  /** §5.3.1: a stream cannot depend on itself. */
  dependsOnItself = false
  bytes: Buffer = NO_BYTES
  from = 0
  end = 0
  readonly #max: number
  readonly #held = new HeldBytes()
  #frames = 0

  /**
   * `max`: bytes of a whole head; blocks that exceed both its double and `MAX_BYTES` are not kept.
   */
  constructor(max: number) {
    this.#max = Math.max(MAX_BYTES, max * 2)
  }

  get isWhole(): boolean {
    return this.stream === 0
  }

  /** Returns an error code, or NO_ERROR; then the block is available if `isWhole`. */
  headers(stream: number, flags: number, bytes: Buffer, from: number, end: number): number {
    let at = from
    let stop = end
    if ((flags & PADDED) !== 0) {
      if (at === end) return PROTOCOL_ERROR
      stop -= bytes[at++] as number
    }
    this.dependsOnItself = false
    if ((flags & HAS_PRIORITY) !== 0) {
      if (at + 5 > stop) return PROTOCOL_ERROR
      this.dependsOnItself = (bytes.readUInt32BE(at) & 0x7fffffff) === stream
      at += 5
    }
    if (at > stop) return PROTOCOL_ERROR
    this.flags = flags
    this.#frames = 1
    if ((flags & END_HEADERS) !== 0) {
      this.bytes = bytes
      this.from = at
      this.end = stop
      return NO_ERROR
    }
    this.stream = stream
    this.#held.clear()
    this.#held.hold(Buffer.from(bytes.subarray(at, stop)), 0)
    return NO_ERROR
  }

  continuation(flags: number, bytes: Buffer, from: number, end: number): number {
    const held = this.#held
    if (++this.#frames > MAX_FRAMES || held.length + end - from > this.#max)
      return ENHANCE_YOUR_CALM
    if (end > from) {
      const more = bytes.subarray(from, end)
      held.hold(held.length === 0 ? Buffer.from(more) : held.join(more), 0)
    }
    if ((flags & END_HEADERS) === 0) return NO_ERROR
    this.stream = 0
    this.bytes = held.take()
    this.from = 0
    this.end = this.bytes.length
    held.clear()
    return NO_ERROR
  }
}

const NO_BYTES = Buffer.alloc(0)
