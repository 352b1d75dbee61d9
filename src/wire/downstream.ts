import type { FieldLines, NameSet } from './http1/field-lines.ts'
import type { Fields } from './http1/fields.ts'
import type { RequestHead } from './http1/head.ts'
import type { Rejection } from './http1/rejections.ts'
import type { ResponseHead } from './http1/response-head.ts'
import type { BodySink } from './streams.ts'

/**
 * One request of a client and the way for its response, whatever the protocol. Heads are in the form
 * of HTTP/1.1, which is read and written strictly: other protocols translate to and from it.
 */
export interface Downstream {
  readonly head: RequestHead
  /** What the client speaks: `HTTP/1.1`, `HTTP/2`. */
  readonly version: string
  /** Whatever the exchange under way is to its owner. */
  exchange: unknown
  /** Whether the client has some of a response: then it can be cut short, but not replaced. */
  readonly isResponding: boolean
  /** Bytes of both bodies, without their framing. */
  readonly bytesReceived: number
  readonly bytesSent: number

  /** Delivers the body. With `asWire` a chunked one comes with its framing. */
  readBody(sink: BodySink, asWire: boolean): void
  resumeBody(): void

  interim(head: ResponseHead, dropped: NameSet): void
  /** The head of the upstream's response; false where it cannot be written. */
  respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): boolean
  /** Whether a chunked response is taken with its framing. */
  readonly takesWire: boolean
  /** `bytes`: how many of these are of the body itself. */
  write(bytes: Buffer, asWire: boolean, byteCount: number): boolean
  /** Whether all bytes that were written are with the client's system: their memory is free. */
  readonly isWritten: boolean
  /** Of one that is used again: for which request, so that nobody takes another's bytes for his. */
  readonly uses?: number
  /** Nothing more is there for now: what was held back to leave together leaves. */
  flush(): void
  end(trailers: Fields | undefined, asWire: boolean): void
  /** A response of our own, whole. */
  reply(status: number, lines: FieldLines, body: Buffer | string): void
  /** Cuts the response short, so that the client sees that it is not whole. */
  abort(): void

  /** After 101; false where the protocol has no such thing or the head cannot be written. */
  tunnel(head: ResponseHead, dropped: NameSet, lines: FieldLines, sink: BodySink): boolean
  writeTunnel(bytes: Buffer): boolean
  endTunnel(): void
}

/** Why a connection is closed by this side. */
export type ClosingWord = 'idle' | 'timeout' | 'bad-request' | 'upstream' | 'error'

/** What a downstream tells its owner. */
export interface DownstreamEvents {
  request(downstream: Downstream): void
  /** Bytes that are no request: the response is written already. */
  rejected(downstream: Downstream, rejection: Rejection): void
  /** What comes of the body is none, or too much, or too late: the exchange ends with an error. */
  unreadable(downstream: Downstream, rejection: Rejection): void
  /** The client went away while its exchange was under way. */
  aborted(downstream: Downstream, reason: string): void
  /** The client takes more of the response again. */
  drained(downstream: Downstream): void
  /** The response and the request are whole. */
  finished(downstream: Downstream): void
  /** The connection is about to be closed by this side. */
  closing?(word: ClosingWord): void
  /** Reading or writing threw: an error of ours. The connection or the stream is closed. */
  broke?(downstream: Downstream | undefined, error: unknown): void
  closed(): void
}
