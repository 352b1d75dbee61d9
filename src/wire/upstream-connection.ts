import type { Fields } from './http1/fields.ts'
import type { RequestHead } from './http1/head.ts'
import type { ResponseHead } from './http1/response-head.ts'
import type { OutgoingRequest } from './http1/write.ts'

/** What becomes of one request. After `failed` or `ended` nothing more is told. */
export interface ResponseEvents {
  interim(head: ResponseHead): void
  /** Returns whether chunked bodies are wanted as they are on the wire. */
  response(head: ResponseHead): boolean
  /** `bytes`: how many of these are of the body itself. False: no more until `resume`. */
  data(bytes: Buffer, byteCount: number): boolean
  /**
   * Whether nothing that came by `data` is needed any longer. Without it bytes are never taken back.
   */
  isWritten?(): boolean
  /** All that was received so far has been told, and the body is not whole. */
  caughtUp?(): void
  ended(trailers: Fields | undefined): void
  /** `isUntouched`: the upstream closed before it sent anything, so another may be asked. */
  failed(reason: string, isUntouched: boolean): void
  drained(): void
}

/** A connection, or one stream of it, that takes one request at a time. */
export interface UpstreamConnection {
  /** Of one that others used before; undefined where that says nothing. */
  readonly isClosed?: boolean
  /** Whether others use it too, or did before: that it broke says nothing of this request. */
  readonly isShared?: boolean
  /**
   * Begins a request with its head in the form of HTTP/1.1; where it has a body, `write` and `end`
   * follow. Chunked bodies come with their framing.
   */
  send(
    method: string,
    head: string,
    hasBody: boolean,
    timeout: number,
    events: ResponseEvents,
  ): boolean
  /**
   * The same from the head that was received, without a text in between, where the connection has a
   * form of its own; an upgrade is not for it. `isFramed`: a chunked body comes with its framing;
   * else its trailers come with `end`. False: the head cannot be written, and nothing was sent.
   */
  sendReceived?(
    head: RequestHead,
    out: OutgoingRequest,
    isFramed: boolean,
    timeout: number,
    events: ResponseEvents,
  ): boolean
  write(bytes: Buffer): boolean
  /** Whether all bytes that were written are with the system, so that their memory is free. */
  readonly isWritten?: boolean
  /** Of one that is used again: for which request. */
  readonly uses?: number
  writeText(text: string): boolean
  /** The request is whole. Trailers of a body that came without framing. */
  end(trailers?: Fields): void
  pause(): void
  resume(): void
  /** After 101 bytes are told as data, until the upstream ends. */
  tunnel(): void
  endTunnel(): void
  abort(): void
  /** Gives back a connection that was not used. */
  release(): void
}
