import type { BodySink } from '../streams.ts'
import type { ServerStream } from './server-stream.ts'
import type { StreamOutput } from './stream-output.ts'

/** What a stream asks of the session that it is of. */
export interface StreamOwner {
  /** Bytes of a body were taken or thrown away: there is room for as many on the connection. */
  returnWindow(byteCount: number): void
  /** The same on a stream. */
  returnStreamWindow(stream: ServerStream, byteCount: number): void
  /** A body is waited for: what other streams hold must not keep it back. */
  extendWindow(): void
  /**
   * What `sink` is given of bytes that were received: these, or a copy. `buffer`: the number of the
   * one that they are in; without it they were received just now.
   */
  lend(stream: ServerStream, bytes: Buffer, sink: BodySink, buffer?: number): Buffer
  /**
   * `stream` holds bytes that were received. Returns the number of their buffer, if they stay as they
   * are while it does, or -1.
   */
  holds(stream: ServerStream, bytes: Buffer): number
  /** We end the stream with this code. */
  reset(stream: ServerStream, code: number): void
  /** The whole response is on its way, and nobody has the request in hand any more. */
  sent(output: StreamOutput): void
}
