import type { HeadLimits } from '../http1/message.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import type { ResponseEvents } from '../upstream-connection.ts'
import type { ClientStream } from './client-stream.ts'

/** What a stream asks of the connection that it is of. */
export interface StreamHome {
  readonly scheme: 'http' | 'https'
  /** For requests that name no host. */
  readonly authority: string
  readonly limits: HeadLimits
  readonly streamWindow: number
  /** RFC 8441 §3: whether the upstream says that it knows the extended CONNECT. */
  readonly allowsConnect: boolean
  /** Opens the stream and its output; false where the connection takes no more. */
  begin(stream: ClientStream): boolean
  /** Room for as many bytes on the connection. */
  returnWindow(byteCount: number): void
  returnStreamWindow(stream: ClientStream, byteCount: number): void
  reset(stream: ClientStream, code: number): void
  /** Bytes were given to somebody who may need them for longer. */
  lent(events: ResponseEvents): void
  /** Something was told: once everything that came was read, the stream's `caughtUp` is called. */
  told(stream: ClientStream): void
  takeHead(): ResponseHead
  returnHead(head: ResponseHead): void
  /** Its room is free again. */
  left(stream: ClientStream): void
}
