import type { Fields } from '../wire/http1/fields.ts'
import type { BodySink } from '../wire/streams.ts'
import { KeptPieces } from './kept-pieces.ts'

/** What the bodies of all requests together may take. */
export interface Room {
  /** False where there is no room for so many bytes more. */
  retain(byteCount: number): boolean
  release(byteCount: number): void
}

/**
 * A request's body on its way, kept as far as it may be needed again: for another attempt, for
 * mirrors, for an expression that reads it. Beyond `max` bytes it passes through and is forgotten.
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
   * `onReady`: called once when the body is whole or no longer fits, or there is no room for it;
   * until then it is only kept. Whoever gives `room` releases the body when all is over.
   */
  constructor(max: number, onReady?: () => void, room?: Room) {
    this.#room = room
    this.#max = max
    this.#onReady = onReady
    this.#isReady = onReady === undefined
  }

  /** A body that is there already. */
  static of(bytes: Uint8Array): KeptBody {
    const body = new KeptBody(bytes.length)
    body.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength))
    body.end(undefined)
    return body
  }

  /** Others took all the room that there is. */
  get isCrowdedOut(): boolean {
    return this.#isCrowdedOut
  }

  /** Can it be sent from its beginning? */
  get isReplayable(): boolean {
    return this.#size <= this.#max && this.#failure === undefined
  }

  /** All of it, where it is whole and was kept. */
  get bytes(): Buffer | undefined {
    return this.#isWhole && this.#size <= this.#max ? Buffer.concat(this.#pieces.all()) : undefined
  }

  /** What came so far of a body that is too long to be kept. */
  get beginning(): Buffer | undefined {
    const isLonger = this.#size > this.#max && !this.#isForgotten
    return isLonger ? Buffer.concat(this.#pieces.all()).subarray(0, this.#max) : undefined
  }

  /**
   * From now on the body goes to `first`, from its beginning, which sets the pace. The others get it
   * once, whoever comes first after that.
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

  /** False where the sender should wait; after `sendTo` it may go on. */
  write(bytes: Buffer): boolean {
    if (!this.#isForgotten) {
      if (this.#room?.retain(bytes.length) === false) return this.#crowdOut()
      this.#taken += bytes.length
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

  /** Counts bytes that were made of it, until it is released; false if there is no room for them. */
  retain(byteCount: number): boolean {
    if (this.#isForgotten) return true
    if (this.#room?.retain(byteCount) === false) return false
    this.#taken += byteCount
    return true
  }

  /** Nothing of it is needed again. */
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

  /** What is missing will not come: the response is there already. */
  abandon(): void {
    if (!this.#isWhole && this.#failure === undefined) this.abort('abandoned')
  }

  #ready(): void {
    if (this.#isReady) return
    this.#isReady = true
    this.#onReady?.()
  }
}
