/** Streams that a busy connection keeps for its next requests; one that is idle keeps none. */
const MAX_FREE = 64

/**
 * Streams of one connection that are over, for its next requests. A stream may end while frames are
 * read or written on its behalf, and whoever does that still looks at it: so it is free only when
 * `settle` is called, at a moment when nobody does.
 */
export class StreamPool<Stream> {
  readonly #free: Stream[] = []
  readonly #ended: Stream[] = []

  take(): Stream | undefined {
    return this.#free.pop()
  }

  /** The stream is over, and nobody will call it again once those who do now have returned. */
  put(stream: Stream): void {
    if (this.#free.length + this.#ended.length < MAX_FREE) this.#ended.push(stream)
  }

  settle(): void {
    const ended = this.#ended
    if (ended.length === 0) return
    for (const stream of ended) this.#free.push(stream)
    ended.length = 0
  }

  clear(): void {
    this.#free.length = 0
    this.#ended.length = 0
  }
}
