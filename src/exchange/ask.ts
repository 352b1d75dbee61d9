import type { Exchange } from './exchange.ts'
import type { HeaderView } from './header-view.ts'

/** A request of the gateway's own, to a service that a policy asks. */
export interface Question {
  readonly method: string
  readonly path: string
  /** Empty: the name of the service itself. */
  readonly authority: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
  /** Milliseconds for all of it. */
  readonly timeout: number
  /** Bytes of the response; a longer one is a failure. */
  readonly maxBytes: number
}

export interface ServiceResponse {
  readonly status: number
  readonly headers: HeaderView
  /** In the order in which they came, repeated ones apart. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly trailers: ReadonlyMap<string, string>
  readonly body: Uint8Array
}

/** Why there is no response, in one word: `connect-rejected`, `timeout`, `overloaded`, … */
export interface NoResponse {
  readonly failure: string
}

/** Asks, and never throws; `exchange` is the request on whose behalf. */
export interface Ask {
  (exchange: Exchange, question: Question): Promise<ServiceResponse | NoResponse>
  /** A stream of messages both ways, in place of one question; absent: there is nobody to ask. */
  readonly open?: OpenStream
}

/** Messages of gRPC on one stream. Never throws; events may come before it returns. */
export type OpenStream = (exchange: Exchange, path: string, events: StreamEvents) => MessageStream

/** After `closed` there is nothing more. */
export interface StreamEvents {
  message(bytes: Uint8Array): void
  /** In a few words: `connect-rejected`, `gRPC status 0`, … */
  closed(reason: string): void
}

export interface MessageStream {
  send(message: Uint8Array): void
  /** Nothing more is sent; the service may still say something. */
  end(): void
  /** Nobody wants it any more; no event follows. */
  stop(): void
}
