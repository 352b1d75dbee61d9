// HOT PATH: writes a body to the peer, as fast as the peer accepts it. Guarded by bench/proxy.ts.
// Liberties: bytes that exceed the peer's window are kept without copying; their lender checks
// `isHolding`.

import { HIDDEN } from '../http1/field-names.ts'
import { type Fields, lineOf } from '../http1/fields.ts'
import type { FrameOutput } from './frame-output.ts'
import type { HpackEncoder } from './hpack-encoder.ts'
import { DEFAULT_URGENCY, type Prioritized } from './priority.ts'

/** The output of a connection that all its streams write to. */
export interface SharedOutput {
  readonly frames: FrameOutput
  readonly encoder: HpackEncoder
  /** Max bytes of a frame that the peer accepts. */
  readonly maxFrame: number
  /** Body bytes that the peer has room for. */
  window: number
  /** Counts writes, so that streams can take turns. */
  served: number
  /** Whether the socket has reached its high-water mark. */
  readonly isCongested: boolean
  /** Frames were added: they are written soon. */
  schedule(): void
  /** Calls `flush` before that. */
  flushLater(output: StreamOutput): void
  /** Calls `pump` when there may be room again. */
  wait(output: StreamOutput): void
  /** The stream has ended on this side. */
  sent(output: StreamOutput): void
  /** The written bytes have left, and there is room for more. */
  drained(output: StreamOutput): void
}

export class StreamOutput implements Prioritized {
  id: number
  urgency: number = DEFAULT_URGENCY
  // A stream without a priority gets an equal share.
  isIncremental = true
  servedAt = 0
  /** Body bytes that the peer has room for. */
  window: number
  bytesSent = 0
  /** Whether the writer must wait for drain. */
  isBlocked = false
  readonly shared: SharedOutput
  protected hasBody = true
  protected isStopped = false
  #pending: Buffer[] | undefined = undefined
  /** Bytes of the first one that have been sent. */
  #gone = 0
  #trailers: Fields | undefined = undefined
  #endsSoon = false
  #isEnded = false

  constructor(id: number, shared: SharedOutput, window: number) {
    this.id = id
    this.shared = shared
    this.window = window
  }

  /** Resets it for another stream of the same connection. */
  reopen(id: number, window: number): void {
    this.id = id
    this.urgency = DEFAULT_URGENCY
    this.isIncremental = true
    this.servedAt = 0
    this.window = window
    this.bytesSent = 0
    this.isBlocked = false
    this.hasBody = true
    this.isStopped = false
    this.#pending = undefined
    this.#gone = 0
    this.#trailers = undefined
    this.#endsSoon = false
    this.#isEnded = false
  }

  /** Whether written bytes are still needed. */
  get isHolding(): boolean {
    return this.#pending !== undefined
  }

  /** Sends the encoder's block as a head. */
  sendBlock(ends: boolean): void {
    const { frames, encoder, maxFrame } = this.shared
    frames.headers(this.id, encoder.bytes, encoder.length, ends, maxFrame)
    if (ends) this.#isEnded = true
    this.shared.schedule()
  }

  write(bytes: Buffer): boolean {
    if (bytes.length === 0 || !this.hasBody || this.isStopped) return true
    this.flush()
    this.bytesSent += bytes.length
    if (this.#pending === undefined) this.#sendNow(bytes)
    else this.#pending.push(bytes)
    if (this.#pending === undefined && !this.shared.isCongested) return true
    this.isBlocked = true
    this.shared.wait(this)
    return false
  }

  /** Ends the body; trailers follow it if there are any. */
  end(trailers: Fields | undefined): void {
    if (this.isStopped) return
    this.#trailers = trailers
    this.#endsSoon = true
    if (this.#pending === undefined) this.#finish()
  }

  /** Sends held-back data. */
  flush(): void {}

  /** There may be room again. */
  pump(): void {
    if (this.isStopped) return
    const isMoving = this.#pending !== undefined && this.#send(this.#pending)
    if (this.#pending !== undefined) {
      this.shared.wait(this)
      // A slow peer is not a stalled one.
      if (isMoving && this.#endsSoon) this.shared.drained(this)
    } else if (this.#endsSoon) this.#finish()
    else if (this.shared.isCongested) this.shared.wait(this)
    else if (this.isBlocked) {
      this.isBlocked = false
      this.shared.drained(this)
    }
  }

  stop(): void {
    this.isStopped = true
    this.#pending = undefined
    this.#trailers = undefined
  }

  /** Usually there is room, and nothing has to be kept. */
  #sendNow(bytes: Buffer): void {
    const { shared } = this
    const { length } = bytes
    const sent = shared.isCongested ? 0 : Math.min(this.window, shared.window, length)
    if (sent > 0) {
      this.servedAt = ++shared.served
      shared.frames.data(this.id, bytes, 0, sent, shared.maxFrame)
      this.window -= sent
      shared.window -= sent
      shared.schedule()
    }
    if (sent === length) return
    this.#pending = [bytes]
    this.#gone = Math.max(0, sent)
  }

  /** Returns whether at least a kilobyte, or everything, was sent. */
  #send(pending: Buffer[]): boolean {
    const { shared } = this
    const { frames, maxFrame } = shared
    let sent = 0
    while (pending.length > 0 && !shared.isCongested) {
      const bytes = pending[0] as Buffer
      const max = Math.min(this.window, shared.window, bytes.length - this.#gone)
      if (max <= 0) break
      frames.data(this.id, bytes, this.#gone, this.#gone + max, maxFrame)
      this.window -= max
      shared.window -= max
      this.#gone += max
      sent += max
      if (this.#gone < bytes.length) continue
      pending.shift()
      this.#gone = 0
    }
    if (sent > 0) {
      this.servedAt = ++shared.served
      shared.schedule()
    }
    if (pending.length > 0) return sent >= 1_024
    this.#pending = undefined
    return true
  }

  #finish(): void {
    const { shared } = this
    this.isBlocked = false
    if (!this.#isEnded) {
      this.#isEnded = true
      const trailers = this.#trailers
      if (trailers === undefined || !encodeTrailers(shared.encoder, trailers))
        shared.frames.end(this.id)
      else this.sendBlock(true)
      shared.schedule()
    }
    shared.sent(this)
  }
}

/** Whether there are trailers that are not hidden. */
export function hasTrailers({ count, kinds }: Fields): boolean {
  for (let i = 0; i < count; i++) if (kinds[i] !== HIDDEN) return true
  return false
}

/** Returns false if there are no trailers to write. */
function encodeTrailers(encoder: HpackEncoder, trailers: Fields): boolean {
  if (!hasTrailers(trailers)) return false
  encoder.begin()
  for (let i = 0; i < trailers.count; i++) {
    if (trailers.kinds[i] === HIDDEN) continue
    encoder.line(trailers.text.substring(lineOf(trailers, i), lineOf(trailers, i + 1) - 2))
  }
  return true
}
