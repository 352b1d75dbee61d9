import type { HeadLimits } from '../http1/message.ts'
import type { ResponseHead } from '../http1/response-head.ts'
import type { ResponseEvents } from '../upstream-connection.ts'
import type { ClientStream } from './client-stream.ts'

/** The connection as its streams use it. */
export interface StreamHome {
  readonly scheme: 'http' | 'https'
  /** For requests without a host. */
  readonly authority: string
  readonly limits: HeadLimits
  readonly streamWindow: number
  /** RFC 8441 §3: whether the upstream supports extended CONNECT. */
  readonly allowsConnect: boolean
  /** Opens the stream and its output; returns false if the connection accepts no more streams. */
  begin(stream: ClientStream): boolean
  /** Returns bytes to the connection window. */
  returnWindow(byteCount: number): void
  returnStreamWindow(stream: ClientStream, byteCount: number): void
  reset(stream: ClientStream, code: number): void
  /** `events` received lent bytes that it may need for longer. */
  lent(events: ResponseEvents): void
  /** Schedules the stream's `caughtUp` for when all received bytes have been processed. */
  scheduleCaughtUp(stream: ClientStream): void
  takeHead(): ResponseHead
  returnHead(head: ResponseHead): void
  /** The place of the stream is free again. */
  left(stream: ClientStream): void
}
