// HOT PATH: what has to be sent once more where a backend never looked at it. Guarded by
// bench/proxy.ts. Liberties: one piece needs no list.

import type { Fields } from '../wire/http1/fields.ts'

/** Bytes of a body that are kept until the response begins; a longer one cannot be sent again. */
const MAX_KEPT = 16_384

/**
 * HTTP/2 tells which requests were not even looked at, also when the first bytes of their body were
 * on their way. Calls of gRPC always have a body, and mostly a short one: it is kept, so that such a
 * request is not lost with its connection.
 */
export class SentBody {
  #first: Buffer | undefined = undefined
  #others: Buffer[] | undefined = undefined
  #size = 0
  #isEnded = false
  #trailers: Fields | undefined = undefined
  /** Whether all of it is here, so that it can be sent again. */
  isWhole = true

  /** `isWaiting`: it was not sent to anybody yet, and must not be lost. */
  add(bytes: Buffer, isWaiting: boolean): void {
    if (!this.isWhole) return
    this.#size += bytes.length
    if (this.#size > MAX_KEPT && !isWaiting) this.drop()
    else if (this.#first === undefined) this.#first = Buffer.from(bytes)
    else {
      this.#others ??= []
      this.#others.push(Buffer.from(bytes))
    }
  }

  end(trailers: Fields | undefined): void {
    this.#isEnded = true
    this.#trailers = trailers
  }

  /** Nobody will want it again. */
  drop(): void {
    this.isWhole = false
    this.#first = undefined
    this.#others = undefined
  }

  /** Whether whoever gets it wants more. */
  sendTo(write: (bytes: Buffer) => boolean, end: (trailers: Fields | undefined) => void): boolean {
    let takesMore = this.#first === undefined || write(this.#first)
    for (const bytes of this.#others ?? []) takesMore = write(bytes)
    if (this.#isEnded) end(this.#trailers)
    return takesMore
  }
}
