import type { Http2Stream } from 'node:http2'
import { HeldBytes } from '../held-bytes.ts'

/** Bytes that are joined before they wait in the stream, where nobody reads it. */
const SMALL = 8_192

/**
 * What came of a stream, as it came: node:http2 tells of it only when somebody reads.
 *
 * The end that END_STREAM makes comes while the stream is open; the one that a reset makes, whatever
 * its code, comes when it is closed. What came before anybody was told of the stream is in it
 * already.
 */
export class Arrival {
  /** Whether the peer said that this is all. A reset ends the stream for readers too. */
  isWhole: boolean
  readonly #held = new HeldBytes()
  readonly #push: Http2Stream['push']

  constructor(stream: Http2Stream, came: (bytes: number) => void) {
    this.isWhole = !stream.pending && stream.state.remoteClose === 1
    if (stream.readableLength > 0) came(stream.readableLength)
    this.#push = stream.push.bind(stream)
    stream.push = (chunk: Buffer | null): boolean => {
      if (chunk !== null) came(chunk.length)
      else if (!stream.closed && !stream.destroyed) this.isWhole = true
      if (chunk === null || stream.readableFlowing === true) {
        this.release()
        return this.#push(chunk)
      }
      return this.#hold(chunk)
    }
  }

  /** To be called where the stream is read from now on. */
  release(): void {
    if (this.#held.length > 0) this.#push(this.#held.take())
  }

  /**
   * A frame may have one byte, and each would wait as an object of its own: a window of a megabyte
   * would take 150. The window is not held back by it, since so little waits here.
   */
  #hold(chunk: Buffer): boolean {
    const held = this.#held
    held.hold(held.join(chunk), 0)
    return held.length < SMALL || this.#push(held.take())
  }
}
