import type { Fields } from './http1/fields.ts'

/** Where the octets of a body go. */
export interface BodySink {
  /** False: no more until whoever gave the sink says that it drained. */
  write(bytes: Buffer): boolean
  end(trailers: Fields | undefined): void
  /** The body will never be whole. */
  abort(reason: string): void
}

/** For what nobody wants any more. */
export const NOWHERE: BodySink = { write: () => true, end() {}, abort() {} }
