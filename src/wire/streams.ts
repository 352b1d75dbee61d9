import type { Fields } from './http1/fields.ts'

/** The destination of a body's bytes. */
export interface BodySink {
  /** False: no more until the provider of the sink reports drain. */
  write(bytes: Buffer): boolean
  /**
   * Whether bytes given to `write` are no longer needed, so that their memory can be reused. A sink
   * without it gets its own copy.
   */
  hasWritten?(): boolean
  end(trailers: Fields | undefined): void
  /** The body will never be complete. */
  abort(reason: string): void
}

/** Discards bytes that are no longer needed. */
export const NOWHERE: BodySink = { write: () => true, hasWritten: () => true, end() {}, abort() {} }
