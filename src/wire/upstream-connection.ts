import type { Fields } from './http1/fields.ts'
import type { RequestHead } from './http1/head.ts'
import type { ResponseHead } from './http1/response-head.ts'
import type { OutgoingRequest } from './http1/write.ts'

/** Why a request failed that the upstream let wait for too long. */
const TIMEOUTS: ReadonlySet<string> = new Set([
  'timeout',
  'response-idle-timeout',
  'tunnel-idle-timeout',
])

export function isTimeout(reason: string): boolean {
  return TIMEOUTS.has(reason)
}

/** Events of one request. Nothing follows `failed` or `ended`. */
export interface ResponseEvents {
  /**
   * Max milliseconds without a byte of the response once it has begun, while the receiver accepts
   * more. Infinity only if something else limits the request.
   */
  readonly idleTimeout: number
  interim(head: ResponseHead): void
  /** Returns whether chunked bodies are wanted with their framing. */
  response(head: ResponseHead): boolean
  /**
   * `byteCount`: how many of these bytes belong to the body itself. False: no more until `resume`.
   */
  data(bytes: Buffer, byteCount: number): boolean
  /**
   * Whether bytes given to `data` are no longer needed. Without it, buffers are never taken back.
   */
  isWritten?(): boolean
  /** All received bytes have been delivered, and the body is incomplete. */
  caughtUp?(): void
  ended(trailers: Fields | undefined): void
  /** `isUntouched`: the upstream closed before it sent anything, so the request can be retried. */
  failed(reason: string, isUntouched: boolean): void
  drained(): void
}

/** A connection, or one of its streams, that takes one request at a time. */
export interface UpstreamConnection {
  /** Whether a reused connection is closed; undefined if that is not known. */
  readonly isClosed?: boolean
  /**
   * Whether other requests use it or did before: a failure then says nothing about this request.
   */
  readonly isShared?: boolean
  /**
   * Begins a request with its head in HTTP/1.1 form; if it has a body, `write` and `end` follow.
   * Chunked bodies include their framing.
   */
  send(
    method: string,
    head: string,
    hasBody: boolean,
    timeout: number,
    events: ResponseEvents,
  ): boolean
  /**
   * The same from the received head, without an intermediate string, for connections with their own
   * encoding; not for upgrades. `isFramed`: a chunked body includes its framing; otherwise `end`
   * gets its trailers. False: the head cannot be written, and nothing was sent.
   */
  sendReceived?(
    head: RequestHead,
    out: OutgoingRequest,
    isFramed: boolean,
    timeout: number,
    events: ResponseEvents,
  ): boolean
  write(bytes: Buffer): boolean
  /** Whether the kernel has all written bytes, so that their memory can be reused. */
  readonly isWritten?: boolean
  /** For reused objects: identifies the request. */
  readonly uses?: number
  writeText(text: string): boolean
  /** Ends the request, with the trailers of a body without framing. */
  end(trailers?: Fields): void
  pause(): void
  resume(): void
  /**
   * After 101: all bytes are delivered as data until the upstream ends, or no bytes were forwarded
   * in either direction for `idleTimeout`.
   */
  tunnel(idleTimeout: number): void
  endTunnel(): void
  abort(): void
  /** Returns a connection that was not used. */
  release(): void
}
