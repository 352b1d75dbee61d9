import type { Fields } from '../wire/http1/fields.ts'
import type { BodySink } from '../wire/streams.ts'
import { KeptPieces } from './kept-pieces.ts'

/** The memory that the bodies of all requests may take together. */
export interface Room {
  /** Returns false if there is no room for this many more bytes. */
  retain(byteCount: number): boolean
  release(byteCount: number): void
}

/**
 * A request body in transit, kept as long as it may be needed again: for another attempt, for
 * mirrors, or for an expression that reads it. Beyond `max` bytes it is forwarded and no longer
 * kept.
 */
export class KeptBody implements BodySink {
  readonly #max: number
  readonly #onReady: (() => void) | undefined
  readonly #pieces = new KeptPieces()
  #size = 0
  #isForgotten = false
  #isWhole = false
  #trailers: Fields | undefined
  #failure: string | undefined
  #sinks: readonly BodySink[] = []
  #followers: readonly BodySink[] = []
  #isReady: boolean
  readonly #room: Room | undefined
  #taken = 0
  #isCrowdedOut = false

  /**
   * `onReady` is called once, when the body is complete or no longer fits, or there is no room for
   * it; until then it is only kept. A caller that passes `room` releases the body at the end.
   */
  constructor(max: number, onReady?: () => void, room?: Room) {
    this.#room = room
    this.#max = max
    this.#onReady = onReady
    this.#isReady = onReady === undefined
  }

  /** A body that is already complete. */
  static of(bytes: Uint8Array): KeptBody {
    const body = new KeptBody(bytes.length)
    body.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    body.end(undefined)
    return body
  }

  /** Whether other bodies take all the room. */
  get isCrowdedOut(): boolean {
    return this.#isCrowdedOut
  }

  /** Whether it can be sent from its beginning. */
  get isReplayable(): boolean {
    return this.#size <= this.#max && this.#failure === undefined
  }

  /** All of it, if it is complete and was kept. */
  get bytes(): Buffer | undefined {
    return this.#isWhole && this.#size <= this.#max ? Buffer.concat(this.#pieces.all()) : undefined
  }

  /** The first bytes of a body that is too long to be kept. */
  get beginning(): Buffer | undefined {
    const isLonger = this.#size > this.#max && !this.#isForgotten
    return isLonger ? Buffer.concat(this.#pieces.all()).subarray(0, this.#max) : undefined
  }

  /**
   * From now on the body goes to `first`, from its beginning; `first` sets the pace. The others
   * receive it only once, whatever `first` is in later calls.
   */
  sendTo(first: BodySink, ...others: readonly BodySink[]): void {
    this.#followers = [...this.#followers, ...others]
    this.#sinks = [first, ...this.#followers]
    for (const sink of [first, ...others]) {
      for (const piece of this.#pieces.all()) sink.write(piece)
      if (this.#failure !== undefined) sink.abort(this.#failure)
      else if (this.#isWhole) sink.end(this.#trailers)
    }
    this.#forget()
  }

  /** Returns false if the sender must wait; it may continue after `sendTo`. */
  write(bytes: Buffer): boolean {
    if (!this.#isForgotten) {
      if (!this.retain(bytes.length)) return this.#crowdOut()
      this.#size += bytes.length
      this.#pieces.add(bytes)
    }
    if (this.#sinks.length === 0) {
      if (this.#size <= this.#max) return true
      this.#ready()
      return this.#sinks.length > 0
    }
    this.#forget()
    let more = true
    for (const [i, sink] of this.#sinks.entries()) {
      const takes = sink.write(bytes)
      if (i === 0) more = takes
    }
    return more
  }

  #forget(): void {
    if (this.#size > this.#max && !this.#isForgotten) this.release()
  }

  #crowdOut(): boolean {
    this.#isCrowdedOut = true
    this.release()
    this.#ready()
    return true
  }

  /** Counts bytes that were made of the body until it is released; false if there is no room. */
  retain(byteCount: number): boolean {
    if (this.#isForgotten) return true
    if (this.#room?.retain(byteCount) === false) return false
    this.#taken += byteCount
    return true
  }

  /** No part of it is needed again. */
  release(): void {
    this.#isForgotten = true
    this.#pieces.clear()
    this.#room?.release(this.#taken)
    this.#taken = 0
  }

  end(trailers: Fields | undefined): void {
    this.#isWhole = true
    this.#trailers = trailers
    for (const sink of this.#sinks) sink.end(trailers)
    this.#ready()
  }

  abort(reason: string): void {
    this.#failure = reason
    for (const sink of this.#sinks) sink.abort(reason)
  }

  /** The rest will not arrive: the response is already complete. */
  abandon(): void {
    if (!this.#isWhole && this.#failure === undefined) this.abort('abandoned')
  }

  #ready(): void {
    if (this.#isReady) return
    this.#isReady = true
    this.#onReady?.()
  }
}
