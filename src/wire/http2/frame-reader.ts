// HOT PATH: received frames. Guarded by bench/proxy.ts.
// Liberties: adjacent DATA frames of one stream are merged within the read buffer, so that a body
// is forwarded in few pieces.

import { HeldBytes } from '../held-bytes.ts'
import {
  DATA,
  END_STREAM,
  FRAME_HEAD,
  FRAME_SIZE_ERROR,
  PADDED,
  PROTOCOL_ERROR,
} from './protocol.ts'

/** Receives the frames; the reader stops when `isOver` is set. */
export interface FrameEvents {
  readonly isOver: boolean
  /**
   * A DATA frame begins, of which `length` counts for flow control; `ends`: it is the last one.
   * Returns false if the frame is an error.
   */
  beginData(stream: number, length: number, padding: number, ends: boolean): boolean
  /** Body bytes; those of one frame may arrive in parts. */
  data(stream: number, bytes: Buffer, from: number, to: number): void
  /** The last byte of a body has arrived. */
  endData(stream: number): void
  /** Any other frame, complete. */
  frame(type: number, flags: number, stream: number, bytes: Buffer, from: number, end: number): void
  /** Malformed bytes: a connection error. */
  fail(code: number): void
}

/** Splits the received bytes of one connection into frames. */
export class FrameReader {
  readonly #events: FrameEvents
  readonly #maxFrame: number
  readonly #held = new HeldBytes()
  // The current DATA frame: its remaining bytes, and the padding after them.
  #stream = 0
  #left = 0
  #padding = 0
  #ends = false
  #inData = false
  // Bytes of one stream that were read and not yet reported.
  #run = 0
  #runFrom = 0
  #runTo = 0

  constructor(events: FrameEvents, maxFrame: number) {
    this.#events = events
    this.#maxFrame = maxFrame
  }

  read(more: Buffer): void {
    const held = this.#held
    const events = this.#events
    const end = more.length
    let at = 0
    // Copies only as many bytes as the incomplete frame needs.
    while (held.length > 0 && at < end && !events.isOver) {
      const next = Math.min(end, at + this.#missing())
      const bytes = held.join(more.subarray(at, next))
      at = next
      const read = this.#readFrames(bytes, 0)
      if (read < bytes.length && !events.isOver) held.hold(bytes, read)
    }
    if (at < end && !events.isOver) {
      at = this.#readFrames(more, at)
      // The bytes may be in a buffer that is reused.
      if (at < end && !events.isOver) held.hold(Buffer.from(more.subarray(at)), 0)
    }
    if (events.isOver) held.clear()
  }

  /** The number of bytes missing from the held frame: for its head, or for the whole frame. */
  #missing(): number {
    const { bytes } = this.#held
    const { length } = bytes
    if (length < FRAME_HEAD) return FRAME_HEAD - length
    // For DATA, only the padding length can be missing.
    if (bytes[3] === DATA) return 1
    return FRAME_HEAD + bytes.readUIntBE(0, 3) - length
  }

  /** Returns the offset of the first incomplete frame. */
  #readFrames(bytes: Buffer, from: number): number {
    const events = this.#events
    const end = bytes.length
    let at = from
    while (at < end && !events.isOver) {
      if (this.#inData) {
        at = this.#readData(bytes, at, end)
        continue
      }
      if (end - at < FRAME_HEAD) break
      const length =
        ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
      const type = bytes[at + 3] as number
      const flags = bytes[at + 4] as number
      const stream = bytes.readUInt32BE(at + 5) & 0x7fffffff
      if (length > this.#maxFrame) {
        this.#report(bytes)
        events.fail(FRAME_SIZE_ERROR)
        break
      }
      if (type === DATA) {
        const next = this.#beginData(bytes, at, end, length, flags, stream)
        if (next === 0) break
        at = next
        continue
      }
      const next = at + FRAME_HEAD + length
      if (next > end) break
      this.#report(bytes)
      if (!events.isOver) events.frame(type, flags, stream, bytes, at + FRAME_HEAD, next)
      at = next
    }
    this.#report(bytes)
    return at
  }

  /** Returns the offset where the payload continues, or 0 if more bytes are needed. */
  #beginData(
    bytes: Buffer,
    at: number,
    end: number,
    length: number,
    flags: number,
    stream: number,
  ): number {
    const events = this.#events
    let from = at + FRAME_HEAD
    let left = length
    let padding = 0
    if ((flags & PADDED) !== 0) {
      if (length > 0 && from === end) return 0
      padding = bytes[from] as number
      // §6.1: with as much padding as payload, there is no room for the padding length itself.
      if (padding >= length) {
        this.#report(bytes)
        events.fail(length === 0 ? FRAME_SIZE_ERROR : PROTOCOL_ERROR)
        return end
      }
      left -= padding + 1
      from++
    }
    if (this.#run !== stream) this.#report(bytes)
    this.#inData = true
    this.#stream = stream
    this.#left = left
    this.#padding = padding
    this.#ends = (flags & END_STREAM) !== 0
    if (!events.isOver && !events.beginData(stream, length, length - left, this.#ends)) {
      // The payload is read and discarded.
      this.#stream = 0
      this.#ends = false
    }
    // An empty frame is already complete.
    return left + padding === 0 ? this.#endData(bytes, from) : from
  }

  #readData(bytes: Buffer, from: number, end: number): number {
    let at = from
    const taken = Math.min(this.#left, end - at)
    if (taken > 0) {
      if (this.#stream !== 0) this.#gather(bytes, at, at + taken)
      this.#left -= taken
      at += taken
    }
    const skipped = Math.min(this.#padding, end - at)
    this.#padding -= skipped
    at += skipped
    return this.#left + this.#padding === 0 ? this.#endData(bytes, at) : at
  }

  #endData(bytes: Buffer, at: number): number {
    this.#inData = false
    if (this.#ends) {
      this.#report(bytes)
      if (!this.#events.isOver) this.#events.endData(this.#stream)
    }
    return at
  }

  /** Appends bytes to those of the same stream that were not reported yet. */
  #gather(bytes: Buffer, from: number, to: number): void {
    if (this.#run !== this.#stream) {
      this.#report(bytes)
      this.#run = this.#stream
      this.#runFrom = from
      this.#runTo = to
      return
    }
    if (this.#runTo !== from) bytes.copyWithin(this.#runTo, from, to)
    this.#runTo += to - from
  }

  #report(bytes: Buffer): void {
    const stream = this.#run
    if (stream === 0) return
    this.#run = 0
    if (!this.#events.isOver) this.#events.data(stream, bytes, this.#runFrom, this.#runTo)
  }
}
