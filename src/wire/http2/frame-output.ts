// HOT PATH: outgoing frames, many of them in one write. Guarded by bench/proxy.ts.
// Liberties: buffers are reused as soon as the kernel has their bytes; bodies are copied, which
// costs less than one write per frame.

import type { Socket } from 'node:net'
import {
  ACK,
  CONTINUATION,
  DATA,
  END_HEADERS,
  END_STREAM,
  FRAME_HEAD,
  GOAWAY,
  HEADERS,
  PING,
  RST_STREAM,
  SETTINGS,
  WINDOW_UPDATE,
} from './protocol.ts'

/** Room for a large read from a backend in eight frames of the usual length, with some to spare. */
const ROOM = 131_584
/** Buffers kept for further writes; surplus ones are left to the garbage collector. */
const MAX_KEPT = 16
/** Up to this many bytes are copied if the socket would otherwise hold the buffer for a while. */
const SHORT = 4_096

const kept: Buffer[] = []

/** The frames of one connection, in the order in which they are written. */
export class FrameOutput {
  length = 0
  /** Whether there is more than control frames. */
  hasMessages = false
  readonly #socket: Socket
  #buffer: Buffer | undefined = undefined
  /** Buffers whose bytes the socket still has. */
  readonly #lent: Buffer[] = []
  /** The start of the last frame if it is DATA and still unwritten. */
  #dataAt = -1
  #dataStream = 0

  constructor(socket: Socket) {
    this.#socket = socket
  }

  settings(pairs: readonly (readonly [id: number, value: number])[]): void {
    const bytes = this.#begin(pairs.length * 6, SETTINGS, 0, 0)
    for (const [id, value] of pairs) {
      bytes.writeUInt16BE(id, this.length)
      bytes.writeUInt32BE(value, this.length + 2)
      this.length += 6
    }
  }

  acknowledgeSettings(): void {
    this.#begin(0, SETTINGS, ACK, 0)
  }

  /** Writes a PING with the eight bytes of `from` at `at`. */
  ping(from: Buffer, at: number, isAck: boolean): void {
    const bytes = this.#begin(8, PING, isAck ? ACK : 0, 0)
    from.copy(bytes, this.length, at, at + 8)
    this.length += 8
  }

  windowUpdate(stream: number, byteCount: number): void {
    this.#number(this.#begin(4, WINDOW_UPDATE, 0, stream), byteCount)
  }

  reset(stream: number, code: number): void {
    this.#number(this.#begin(4, RST_STREAM, 0, stream), code)
  }

  goaway(last: number, code: number): void {
    const bytes = this.#begin(8, GOAWAY, 0, 0)
    this.#number(bytes, last)
    this.#number(bytes, code)
  }

  /** Writes a header block in as many frames as it needs. */
  headers(stream: number, block: Buffer, length: number, ends: boolean, maxFrame: number): void {
    let type = HEADERS
    let at = 0
    this.hasMessages = true
    do {
      const taken = Math.min(length - at, maxFrame, ROOM - FRAME_HEAD)
      const isLast = at + taken === length
      const flags = (isLast ? END_HEADERS : 0) | (ends && type === HEADERS ? END_STREAM : 0)
      const bytes = this.#begin(taken, type, flags, stream)
      block.copy(bytes, this.length, at, at + taken)
      this.length += taken
      at += taken
      type = CONTINUATION
    } while (at < length)
  }

  /** Writes body bytes in as many frames as they need. */
  data(stream: number, from: Buffer, start: number, end: number, maxFrame: number): void {
    for (let at = start; at < end; ) {
      const taken = Math.min(end - at, maxFrame, ROOM - FRAME_HEAD)
      const bytes = this.#begin(taken, DATA, 0, stream)
      this.hasMessages = true
      this.#dataAt = this.length - FRAME_HEAD
      this.#dataStream = stream
      from.copy(bytes, this.length, at, at + taken)
      this.length += taken
      at += taken
    }
  }

  /** Ends a stream with its last frame if that is still unwritten, or with an empty one. */
  end(stream: number): void {
    if (this.#dataAt >= 0 && this.#dataStream === stream) {
      const bytes = this.#buffer as Buffer
      bytes[this.#dataAt + 4] = (bytes[this.#dataAt + 4] as number) | END_STREAM
    } else this.#begin(0, DATA, END_STREAM, stream)
    this.#dataAt = -1
  }

  /** Writes all pending frames to the socket. */
  write(): void {
    const buffer = this.#buffer
    const { length } = this
    if (buffer === undefined || length === 0) return
    const socket = this.#socket
    const bytes = buffer.subarray(0, length)
    this.length = 0
    this.hasMessages = false
    this.#dataAt = -1
    const isBusy = socket.writableLength > 0
    if (isBusy && length <= SHORT) {
      socket.write(Buffer.from(bytes))
      return
    }
    if (!isBusy) this.#recover()
    this.#buffer = undefined
    socket.write(bytes)
    if (socket.writableLength === 0) keep(buffer)
    else this.#lent.push(buffer)
  }

  /** The socket has written everything: its buffers can be reused. */
  #recover(): void {
    for (const buffer of this.#lent) keep(buffer)
    this.#lent.length = 0
  }

  #begin(length: number, type: number, flags: number, stream: number): Buffer {
    if (this.length + FRAME_HEAD + length > ROOM) this.write()
    this.#buffer ??= kept.pop() ?? Buffer.allocUnsafeSlow(ROOM)
    const bytes = this.#buffer
    const at = this.length
    bytes[at] = length >> 16
    bytes[at + 1] = (length >> 8) & 0xff
    bytes[at + 2] = length & 0xff
    bytes[at + 3] = type
    bytes[at + 4] = flags
    this.length = at + 5
    this.#number(bytes, stream)
    this.#dataAt = -1
    return bytes
  }

  #number(bytes: Buffer, value: number): void {
    const at = this.length
    bytes[at] = value >>> 24
    bytes[at + 1] = (value >> 16) & 0xff
    bytes[at + 2] = (value >> 8) & 0xff
    bytes[at + 3] = value & 0xff
    this.length = at + 4
  }
}

function keep(buffer: Buffer): void {
  if (kept.length < MAX_KEPT) kept.push(buffer)
}
