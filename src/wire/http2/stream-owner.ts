import type { BodySink } from '../streams.ts'
import type { ServerStream } from './server-stream.ts'
import type { StreamOutput } from './stream-output.ts'

/** The session as its streams use it. */
export interface StreamOwner {
  /** Body bytes were consumed or discarded: returns them to the connection window. */
  returnWindow(byteCount: number): void
  /** The same for the stream window. */
  returnStreamWindow(stream: ServerStream, byteCount: number): void
  /** A body is being awaited: bytes held by other streams must not block it. */
  extendWindow(): void
  /**
   * Returns received bytes for `sink`: these, or a copy. `buffer`: the number of their buffer;
   * without it, they were received just now.
   */
  lend(stream: ServerStream, bytes: Buffer, sink: BodySink, buffer?: number): Buffer
  /**
   * `stream` holds received bytes. Returns the number of their buffer if they stay unchanged as
   * long as the stream holds them, or -1.
   */
  holds(stream: ServerStream, bytes: Buffer): number
  /** Ends the stream with this error code. */
  reset(stream: ServerStream, code: number): void
  /** The whole response has been written, and the request is no longer in use. */
  sent(output: StreamOutput): void
}
