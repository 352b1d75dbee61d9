/** How many are remembered; what is older is nobody's that keeps to the limit of streams. */
const MOST = 256

/** Why a stream is closed: it ended, the client reset it, or we did. */
export type ClosedStream = 'over' | 'cut'

/**
 * The streams that were closed last. RFC 9113 §5.1: what comes on one that we reset may have been on
 * its way and is ignored, on any other closed one it is an error.
 */
export class ClosedStreams {
  readonly #ids = new Int32Array(MOST)
  #next = 0

  note(id: number, closed: ClosedStream): void {
    this.#ids[this.#next] = closed === 'cut' ? -id : id
    this.#next = (this.#next + 1) % MOST
  }

  /** Undefined for one that was never there, or long ago. */
  find(id: number): ClosedStream | undefined {
    if (this.#ids.includes(id)) return 'over'
    return this.#ids.includes(-id) ? 'cut' : undefined
  }
}
