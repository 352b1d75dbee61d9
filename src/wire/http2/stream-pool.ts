/** Max streams that a busy connection keeps for further requests; an idle one keeps none. */
const MAX_FREE = 64

/**
 * Ended streams of one connection, for reuse. A stream may end while frames are read or written on
 * its behalf, and that code still accesses it: so it becomes free only when `settle` is called,
 * when no such code is running.
 */
export class StreamPool<Stream> {
  readonly #free: Stream[] = []
  readonly #ended: Stream[] = []

  take(): Stream | undefined {
    return this.#free.pop()
  }

  /** The stream is over, and is not used again after the current calls have returned. */
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
