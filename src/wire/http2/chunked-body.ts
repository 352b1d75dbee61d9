import { BodyReader, beginBody, readBody, trailersOf } from '../http1/body.ts'
import type { Fields } from '../http1/fields.ts'
import type { StreamOutput } from './stream-output.ts'

/** Removes the chunk framing of a request's body; HTTP/2 has its own framing. */
export class ChunkedBody {
  readonly #body = new BodyReader()

  constructor() {
    beginBody(this.#body, 'chunked', -1)
  }

  get isDone(): boolean {
    return this.#body.isDone
  }

  get trailers(): Fields | undefined {
    return trailersOf(this.#body)
  }

  /** Returns 1, 0 if the writer should pause, or a rejection. */
  write(bytes: Buffer, out: StreamOutput): number {
    const body = this.#body
    let takesMore = true
    let at = 0
    while (at < bytes.length && !body.isDone) {
      at = readBody(body, bytes, at, bytes.length)
      if (at < 0) return at
      if (body.to > body.from) takesMore = out.write(bytes.subarray(body.from, body.to))
    }
    return takesMore ? 1 : 0
  }
}
