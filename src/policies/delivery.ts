import type { Exchange } from '../exchange/exchange.ts'
import type { Target } from '../model/backend.ts'

/** Max durations, in milliseconds; Infinity: unlimited. */
export interface Timeouts {
  /** From the head of the request to the end of the response; 0: none. */
  readonly request: number
  /** For each attempt, from the end of the request to the head of the response; 0: not set. */
  readonly backendRequest: number
  /** For each pause of the response; 0: not set. */
  readonly responseIdle: number
}

export const NO_TIMEOUTS: Timeouts = { request: 0, backendRequest: 0, responseIdle: 0 }

/** Whether and how a request is retried. */
export interface Retry {
  /** Max retries. */
  readonly attempts: number
  readonly statuses: ReadonlySet<number>
  /** Also retry if the connection broke before any response arrived. */
  readonly onConnectionError: boolean
  /** Milliseconds before the second attempt; doubled for each further one. */
  readonly backoff: number
  /** Max bytes of a body that are buffered for retries. */
  readonly maxBody: number
  /** Evaluated once per request; undefined: every request may be retried. */
  readonly precondition: ((exchange: Exchange) => boolean) | undefined
  /** Evaluated for a response, with `response` set; true: retry, whatever the status. */
  readonly condition: ((exchange: Exchange) => boolean) | undefined
}

/** A destination of copies; the Program resolves its endpoints. */
export interface MirrorTarget {
  readonly target: Target
  /** From 0 to 1. */
  readonly fraction: number
}
