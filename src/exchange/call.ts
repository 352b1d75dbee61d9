import type { Exchange } from './exchange.ts'
import type { Header } from './header-edit.ts'

/** A request that the gateway itself sends and whose response is streamed. */
export interface OutgoingCall {
  readonly method: string
  readonly path: string
  /** If empty, the name of the service. */
  readonly authority: string
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  /** Milliseconds until the response starts. */
  readonly timeout: number
  /** Milliseconds of each pause of the response; Infinity for streams that may be silent. */
  readonly idleTimeout: number
}

/** Events of the response. No event follows `ended` or `failed`. */
export interface CallEvents {
  /** Names are in lower case; repeated headers are separate entries. */
  response(status: number, fields: readonly Header[]): void
  /** False: no more until `resume`. The receiver owns the bytes. */
  data(bytes: Uint8Array): boolean
  ended(): void
  /** The reason, as a single word: `connect-rejected`, `timeout`, `closed`, … */
  failed(reason: string): void
}

export interface CallHandle {
  /** Cancels the call; no event follows. */
  stop(): void
  resume(): void
}

/** Sends a request on behalf of an exchange. Never throws; events may arrive before it returns. */
export type OpenCall = (exchange: Exchange, call: OutgoingCall, events: CallEvents) => CallHandle
