import type { Exchange } from './exchange.ts'
import type { Header } from './header-edit.ts'

/** A request of the gateway's own whose response is read as it comes. */
export interface OutgoingCall {
  readonly method: string
  readonly path: string
  /** Empty: the name of the service itself. */
  readonly authority: string
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  /** Milliseconds until the response begins; a stream may then last as long as it likes. */
  readonly timeout: number
}

/** What comes back. After `ended` or `failed` there is nothing more. */
export interface CallEvents {
  /** Names are in lower case; repeated headers come one by one. */
  response(status: number, fields: readonly Header[]): void
  /** False: no more until `resume`. The bytes are the receiver's own. */
  data(bytes: Uint8Array): boolean
  ended(): void
  /** In one word: `connect-rejected`, `timeout`, `closed`, … */
  failed(reason: string): void
}

export interface CallHandle {
  /** Nobody wants the response any more; no event follows. */
  stop(): void
  resume(): void
}

/** Sends a request on behalf of an exchange. Never throws; events may come before it returns. */
export type OpenCall = (exchange: Exchange, call: OutgoingCall, events: CallEvents) => CallHandle
