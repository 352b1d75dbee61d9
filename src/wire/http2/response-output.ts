// HOT PATH: writes a response to the client. Guarded by bench/proxy.ts.
// Liberties: the head is encoded when the first body bytes leave, from where it was read.

import { type FieldLines, type NameSet, NO_LINES, NO_NAMES } from '../http1/field-lines.ts'
import type { Fields } from '../http1/fields.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import { encodeReply, encodeResponse, encodeSwitch } from './response-fields.ts'
import { hasTrailers, StreamOutput } from './stream-output.ts'

export class ResponseOutput extends StreamOutput {
  #head: ResponseHead | undefined = undefined
  #dropped: NameSet = NO_NAMES
  #lines: FieldLines = NO_LINES
  #isOpenEnded = false

  override reopen(id: number, window: number): void {
    super.reopen(id, window)
    this.#head = undefined
    this.#dropped = NO_NAMES
    this.#lines = NO_LINES
    this.#isOpenEnded = false
  }

  /** Whether the head can still be replaced. */
  get hasHeldHead(): boolean {
    return this.#head !== undefined
  }

  /** Sends 100 (Continue). */
  goOn(): void {
    const { encoder } = this.shared
    encoder.begin()
    encoder.status(100)
    this.sendBlock(false)
  }

  interim(head: ResponseHead, dropped: NameSet): void {
    encodeResponse(this.shared.encoder, head, dropped, NO_LINES)
    this.sendBlock(false)
  }

  /** The head is sent with the first bytes of the body, or shortly. */
  respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): void {
    const { framing, status } = head
    this.#head = head
    this.#dropped = dropped
    this.#lines = lines
    // RFC 9110 §15.3.6: a 205 has no content.
    this.hasBody = framing !== 'none' && status !== 205
    this.#isOpenEnded = framing === 'chunked' || framing === 'close'
    this.shared.flushLater(this)
  }

  /** The response to an extended CONNECT, after which bytes flow both ways. */
  tunnel(head: ResponseHead, dropped: NameSet, lines: FieldLines): void {
    encodeSwitch(this.shared.encoder, head, dropped, lines)
    this.hasBody = true
    this.sendBlock(false)
  }

  reply(status: number, lines: FieldLines, bytes: Buffer, isHead: boolean): void {
    if (this.isStopped) return
    const isBodiless = status === 204 || status === 205 || status === 304 || status < 200
    this.#head = undefined
    this.#isOpenEnded = false
    this.hasBody = !isHead && !isBodiless && bytes.length > 0
    encodeReply(this.shared.encoder, status, lines, isBodiless ? -1 : bytes.length)
    this.sendBlock(!this.hasBody)
    this.write(bytes)
  }

  override end(trailers: Fields | undefined): void {
    if (this.isStopped) return
    const isFollowed = this.#isOpenEnded && trailers !== undefined && hasTrailers(trailers)
    if (this.#head !== undefined) this.#flushHead(!isFollowed)
    super.end(isFollowed ? trailers : undefined)
  }

  override flush(): void {
    if (this.#head !== undefined) this.#flushHead(false)
  }

  override stop(): void {
    this.#head = undefined
    super.stop()
  }

  #flushHead(ends: boolean): void {
    const head = this.#head
    this.#head = undefined
    if (head === undefined || this.isStopped) return
    encodeResponse(this.shared.encoder, head, this.#dropped, this.#lines)
    this.sendBlock(ends || !this.hasBody)
  }
}
