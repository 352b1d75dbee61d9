import type { Exchange } from './exchange.ts'
import type { HeaderView } from './header-view.ts'

/** A request that the gateway itself sends to a service that a policy calls. */
export interface ServiceRequest {
  readonly method: string
  readonly path: string
  /** If empty, the name of the service. */
  readonly authority: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
  /** Timeout for the whole call, in milliseconds. */
  readonly timeout: number
  /** Max size of the response in bytes; a longer response is a failure. */
  readonly maxBytes: number
}

export interface ServiceResponse {
  readonly status: number
  readonly headers: HeaderView
  /** In the order received; repeated headers are separate entries. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly trailers: ReadonlyMap<string, string>
  readonly body: Uint8Array
}

/** Why there is no response, as a single word: `connect-rejected`, `timeout`, `overloaded`, … */
export interface NoResponse {
  readonly failure: string
}

/** Calls a service on behalf of the request in `exchange`. Never throws. */
export interface CallService {
  (exchange: Exchange, question: ServiceRequest): Promise<ServiceResponse | NoResponse>
  /** Opens a stream of messages in both directions; absent if there is no service to call. */
  readonly open?: OpenStream
}

/** A stream of gRPC messages. Never throws; events may arrive before it returns. */
export type OpenStream = (exchange: Exchange, path: string, events: StreamEvents) => MessageStream

/** No event follows `closed`. */
export interface StreamEvents {
  message(bytes: Uint8Array): void
  /** A short reason: `connect-rejected`, `gRPC status 0`, … */
  closed(reason: string): void
}

export interface MessageStream {
  send(message: Uint8Array): void
  /** Ends the request side; the service may still send messages. */
  end(): void
  /** Cancels the stream; no event follows. */
  stop(): void
}
