/**
 * Number of streams that are remembered; peers that respect the stream limit need no older ones.
 */
const MAX_CLOSED = 256

/** `cut`: the gateway reset the stream. `over`: it ended, or the peer reset it. */
export type ClosedStream = 'over' | 'cut'

/**
 * The streams that were closed last. RFC 9113 §5.1: frames on a stream that this side reset may
 * have been in flight and are ignored; on any other closed stream they are an error.
 */
export class ClosedStreams {
  readonly #ids = new Int32Array(MAX_CLOSED)
  #next = 0

  note(id: number, closed: ClosedStream): void {
    this.#ids[this.#next] = closed === 'cut' ? -id : id
    this.#next = (this.#next + 1) % MAX_CLOSED
  }

  /** Undefined for a stream that never existed or closed long ago. */
  find(id: number): ClosedStream | undefined {
    if (this.#ids.includes(id)) return 'over'
    return this.#ids.includes(-id) ? 'cut' : undefined
  }
}
