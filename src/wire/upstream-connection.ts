import type { Fields } from './http1/fields.ts'
import type { ResponseHead } from './http1/response-head.ts'

/** What becomes of one request. After `failed` or `ended` nothing more is told. */
export interface ResponseEvents {
  interim(head: ResponseHead): void
  /** Answers whether chunked bodies are wanted as they are on the wire. */
  response(head: ResponseHead): boolean
  /** `bytes`: how many of these are of the body itself. False: no more until `resume`. */
  data(bytes: Buffer, octets: number): boolean
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
  write(bytes: Buffer): boolean
  /** Whether all bytes that were written are with the system, so that their memory is free. */
  readonly isWritten?: boolean
  writeText(text: string): boolean
  /** The request is whole. */
  end(): void
  pause(): void
  resume(): void
  /** After 101 bytes are told as data, until the upstream ends. */
  tunnel(): void
  endTunnel(): void
  abort(): void
  /** Gives back a connection that was not used. */
  release(): void
}
