// HOT PATH: what must be sent again if a backend did not process it. Guarded by bench/proxy.ts.
// Liberties: one piece needs no list.

import type { Fields } from '../wire/http1/fields.ts'

/** Bytes of a body kept until the response begins; a longer one cannot be sent again. */
const MAX_KEPT = 16_384

/**
 * HTTP/2 reports which requests were not processed, even if the first bytes of their body were in
 * transit. gRPC calls always have a body, and usually a short one: it is kept, so that such a
 * request is not lost with its connection.
 */
export class SentBody {
  #first: Buffer | undefined = undefined
  #others: Buffer[] | undefined = undefined
  #size = 0
  #isEnded = false
  #trailers: Fields | undefined = undefined
  /** Whether all of it is kept, so that it can be sent again. */
  isWhole = true

  /** `isWaiting`: it has not been sent yet, and must not be lost. */
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

  /** It is not needed again. */
  drop(): void {
    this.isWhole = false
    this.#first = undefined
    this.#others = undefined
  }

  /** Returns whether the recipient accepts more. */
  sendTo(write: (bytes: Buffer) => boolean, end: (trailers: Fields | undefined) => void): boolean {
    let takesMore = this.#first === undefined || write(this.#first)
    for (const bytes of this.#others ?? []) takesMore = write(bytes)
    if (this.#isEnded) end(this.#trailers)
    return takesMore
  }
}
