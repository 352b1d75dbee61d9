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

export interface Answer {
  readonly status: number
  readonly headers: HeaderView
  /** In the order in which they came, repeated ones apart. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly trailers: ReadonlyMap<string, string>
  readonly body: Uint8Array
}

/** Why there is no response, in one word: `connect-refused`, `timeout`, `overloaded`, … */
export interface NoResponse {
  readonly failure: string
}

/** Asks, and never throws; `exchange` is the request on whose behalf. */
export type Ask = (exchange: Exchange, question: Question) => Promise<Answer | NoResponse>
