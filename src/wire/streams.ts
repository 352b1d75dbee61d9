import type { Fields } from './http1/fields.ts'

/** Where the bytes of a body go. */
export interface BodySink {
  /** False: no more until whoever gave the sink says that it drained. */
  write(bytes: Buffer): boolean
  /**
   * Whether nothing that came by `write` is needed any longer, so that its memory may be used again.
   * A sink without it gets bytes that are its own.
   */
  hasWritten?(): boolean
  end(trailers: Fields | undefined): void
  /** The body will never be whole. */
  abort(reason: string): void
}

/** For what nobody wants any more. */
export const NOWHERE: BodySink = { write: () => true, hasWritten: () => true, end() {}, abort() {} }
