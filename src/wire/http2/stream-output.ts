// HOT PATH: a response on its way to the client, as fast as the client takes it.
// Guarded by bench/proxy.ts. Liberties: what the client has no window for is kept as it came, not
// copied; whoever lent it asks `isHolding`.

import { type FieldLines, type NameSet, NO_LINES, NO_NAMES } from '../http1/field-lines.ts'
import type { Fields } from '../http1/fields.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import type { FrameOutput } from './frame-output.ts'
import { type HeaderList, trailerHeaders } from './headers.ts'
import type { HpackEncoder } from './hpack-encoder.ts'
import { encodeReply, encodeResponse, encodeSwitch } from './response-fields.ts'

/** The connection that all streams write to. */
export interface SharedOutput {
  readonly frames: FrameOutput
  readonly encoder: HpackEncoder
  /** Bytes of the longest frame that the client takes. */
  readonly maxFrame: number
  /** Bytes of bodies that the client has room for. */
  window: number
  /** The socket has as much as it should. */
  readonly isCongested: boolean
  /** Frames were written: they leave soon. */
  schedule(): void
  /** `flush` is called before they do. */
  flushLater(output: StreamOutput): void
  /** `pump` is called when there may be room again. */
  wait(output: StreamOutput): void
  /** The stream has ended on our side. */
  sent(output: StreamOutput): void
  /** What was written has left, and there is room for more. */
  drained(output: StreamOutput): void
}

export class StreamOutput {
  readonly id: number
  /** Bytes of its body that the client has room for. */
  window: number
  bytesSent = 0
  /** Whether whoever writes was told to wait. */
  isBlocked = false
  readonly #shared: SharedOutput
  #head: ResponseHead | undefined = undefined
  #dropped: NameSet = NO_NAMES
  #lines: FieldLines = NO_LINES
  #hasBody = true
  #isOpenEnded = false
  #pending: Buffer[] = []
  /** Bytes of the first one that have left. */
  #gone = 0
  #trailers: HeaderList | undefined = undefined
  #endsSoon = false
  #isEnded = false
  #isStopped = false

  constructor(id: number, shared: SharedOutput, window: number) {
    this.id = id
    this.#shared = shared
    this.window = window
  }

  /** Whether the head could still be another one. */
  get hasHeldHead(): boolean {
    return this.#head !== undefined
  }

  /** Whether something that was written is still needed. */
  get isHolding(): boolean {
    return this.#pending.length > 0
  }

  /** 100 (Continue) */
  goOn(): void {
    const { encoder } = this.#shared
    encoder.begin()
    encoder.status(100)
    this.#sendBlock(false)
  }

  interim(head: ResponseHead, dropped: NameSet): void {
    encodeResponse(this.#shared.encoder, head, dropped, NO_LINES)
    this.#sendBlock(false)
  }

  /** The head leaves with the first bytes of the body, or soon. */
  respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): void {
    const { framing, status } = head
    this.#head = head
    this.#dropped = dropped
    this.#lines = lines
    // RFC 9110 §15.3.6: a 205 has no content.
    this.#hasBody = framing !== 'none' && status !== 205
    this.#isOpenEnded = framing === 'chunked' || framing === 'close'
    this.#shared.flushLater(this)
  }

  /** The response to an extended CONNECT, behind which bytes go both ways. */
  tunnel(head: ResponseHead, dropped: NameSet, lines: FieldLines): void {
    encodeSwitch(this.#shared.encoder, head, dropped, lines)
    this.#hasBody = true
    this.#sendBlock(false)
  }

  reply(status: number, lines: FieldLines, bytes: Buffer, isHead: boolean): void {
    if (this.#isStopped) return
    const isBodiless = status === 204 || status === 205 || status === 304 || status < 200
    this.#head = undefined
    this.#isOpenEnded = false
    this.#hasBody = !isHead && !isBodiless && bytes.length > 0
    encodeReply(this.#shared.encoder, status, lines, isBodiless ? -1 : bytes.length)
    this.#sendBlock(!this.#hasBody)
    this.write(bytes)
  }

  write(bytes: Buffer): boolean {
    if (bytes.length === 0 || !this.#hasBody || this.#isStopped) return true
    this.flush()
    this.bytesSent += bytes.length
    const isFirst = this.#pending.length === 0
    this.#pending.push(bytes)
    if (isFirst) this.#send()
    if (this.#pending.length === 0 && !this.#shared.isCongested) return true
    this.isBlocked = true
    this.#shared.wait(this)
    return false
  }

  end(trailers: Fields | undefined): void {
    if (this.#isStopped) return
    if (trailers !== undefined && this.#isOpenEnded) {
      const list = trailerHeaders(trailers)
      if (list.length > 0) this.#trailers = list
    }
    this.#endsSoon = true
    if (this.#head !== undefined) this.#flushHead(this.#trailers === undefined)
    if (this.#pending.length === 0) this.#finish()
  }

  flush(): void {
    if (this.#head !== undefined) this.#flushHead(false)
  }

  /** There may be room again. */
  pump(): void {
    if (this.#isStopped) return
    const isMoving = this.#pending.length > 0 && this.#send()
    if (this.#pending.length > 0) {
      this.#shared.wait(this)
      // A client that takes little by little is not one that takes nothing.
      if (isMoving && this.#endsSoon) this.#shared.drained(this)
    } else if (this.#endsSoon) this.#finish()
    else if (this.#shared.isCongested) this.#shared.wait(this)
    else if (this.isBlocked) {
      this.isBlocked = false
      this.#shared.drained(this)
    }
  }

  stop(): void {
    this.#isStopped = true
    this.#head = undefined
    this.#pending = []
    this.#trailers = undefined
  }

  #flushHead(ends: boolean): void {
    const head = this.#head
    this.#head = undefined
    if (head === undefined || this.#isStopped) return
    encodeResponse(this.#shared.encoder, head, this.#dropped, this.#lines)
    this.#sendBlock(ends || !this.#hasBody)
  }

  #sendBlock(ends: boolean): void {
    const { frames, encoder, maxFrame } = this.#shared
    frames.headers(this.id, encoder.bytes, encoder.length, ends, maxFrame)
    if (ends) this.#isEnded = true
    this.#shared.schedule()
  }

  /** Whether at least a kilobyte, or everything, has left. */
  #send(): boolean {
    const shared = this.#shared
    const { frames, maxFrame } = shared
    const pending = this.#pending
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
    if (sent > 0) shared.schedule()
    return sent >= 1_024 || pending.length === 0
  }

  #finish(): void {
    const shared = this.#shared
    this.isBlocked = false
    if (!this.#isEnded) {
      this.#isEnded = true
      const list = this.#trailers
      if (list === undefined) shared.frames.end(this.id)
      else {
        const { encoder, frames, maxFrame } = shared
        encoder.begin()
        for (let i = 0; i < list.length; i += 2)
          encoder.field(list[i] as string, list[i + 1] as string)
        frames.headers(this.id, encoder.bytes, encoder.length, true, maxFrame)
      }
      shared.schedule()
    }
    shared.sent(this)
  }
}
