import type { Recorded } from '../exchange/recorded.ts'
import type { FieldLines, NameSet } from './http1/field-lines.ts'
import type { Fields } from './http1/fields.ts'
import type { RequestHead } from './http1/head.ts'
import type { Rejection } from './http1/rejections.ts'
import type { ResponseHead } from './http1/response-head.ts'
import type { BodySink } from './streams.ts'

/**
 * One request of a client and the channel for its response, for any protocol. Heads are in HTTP/1.1
 * form, which is read and written strictly: other protocols translate to and from it.
 */
export interface Downstream {
  readonly head: RequestHead
  /** The client's protocol: `HTTP/1.1`, `HTTP/2`. */
  readonly version: string
  /** The owner's state of the exchange in progress. */
  exchange: unknown
  /** Whether the client has part of a response: then it can be cut short, but not replaced. */
  readonly isResponding: boolean
  /** Bytes of both bodies, without their framing. */
  readonly bytesReceived: number
  readonly bytesSent: number

  /** Delivers the body. With `asWire`, a chunked body is delivered with its framing. */
  readBody(sink: BodySink, asWire: boolean): void
  resumeBody(): void

  interim(head: ResponseHead, dropped: NameSet): void
  /** Sends the head of the upstream's response; returns false if it cannot be written. */
  respond(head: ResponseHead, dropped: NameSet, lines: FieldLines): boolean
  /** Whether a chunked response is accepted with its framing. */
  readonly takesWire: boolean
  /** `byteCount`: how many of these bytes belong to the body itself. */
  write(bytes: Buffer, asWire: boolean, byteCount: number): boolean
  /** Whether the kernel has all written bytes: their memory can be reused. */
  readonly isWritten: boolean
  /**
   * For reused objects: identifies the request, so that bytes of one are not taken for another's.
   */
  readonly uses?: number
  /** Sends held-back data now, since nothing more is available. */
  flush(): void
  end(trailers: Fields | undefined, asWire: boolean): void
  /** Sends a complete response of the gateway itself. */
  reply(recorded: Recorded, status: number, lines: FieldLines, body: Buffer | string): void
  /** Cuts the response short in a way that shows the client that it is incomplete. */
  abort(): void

  /** Called after 101; false if the protocol has no upgrades or the head cannot be written. */
  tunnel(head: ResponseHead, dropped: NameSet, lines: FieldLines, sink: BodySink): boolean
  writeTunnel(bytes: Buffer): boolean
  endTunnel(): void
}

/** Why the gateway closes a connection. */
export type ClosingWord = 'idle' | 'timeout' | 'bad-request' | 'upstream' | 'error'

/** Events that a downstream reports to its owner. */
export interface DownstreamEvents {
  request(downstream: Downstream): void
  /**
   * The bytes are not a request. The owner responds, if the client is able to read a response; if it
   * does not respond at once, the connection or the stream ends.
   */
  rejected(downstream: Downstream, rejection: Rejection, isReadable: boolean): void
  /** The body is malformed, too large or too late: the exchange ends with an error. */
  unreadable(downstream: Downstream, rejection: Rejection): void
  /** The client went away during its exchange. */
  aborted(downstream: Downstream, reason: string): void
  /** The client accepts more of the response again. */
  drained(downstream: Downstream): void
  /** The response and the request are complete. */
  finished(downstream: Downstream): void
  /** The gateway is about to close the connection. */
  closing?(word: ClosingWord): void
  /** Reading or writing threw: a bug in the gateway. The connection or the stream is closed. */
  broke?(downstream: Downstream | undefined, error: unknown): void
  closed(): void
}
