import type { Exchange } from '../exchange/exchange.ts'
import type { Target } from '../model/backend.ts'

/** How long attempts may take, in milliseconds. */
export interface Timeouts {
  /** From the request's head to the end of the response; 0: none. */
  readonly request: number
  /** For each attempt, from the end of the request to the response's head; 0: nothing is said. */
  readonly backendRequest: number
}

export const NO_TIMEOUTS: Timeouts = { request: 0, backendRequest: 0 }

/** Whether and how a request is sent again. */
export interface Retry {
  /** Max retries. */
  readonly attempts: number
  readonly statuses: ReadonlySet<number>
  /** Also where the connection broke before any response came. */
  readonly onConnectionError: boolean
  /** Milliseconds before the second attempt; doubled each time. */
  readonly backoff: number
  /** Bytes of a body that are kept so that it can be sent again. */
  readonly maxBody: number
  /** Asked once of the request; undefined: every request may be tried again. */
  readonly precondition: ((exchange: Exchange) => boolean) | undefined
  /** Asked of a response, with `response` set; true: try again, whatever the status. */
  readonly condition: ((exchange: Exchange) => boolean) | undefined
}

/** Who gets a copy; the Program knows its endpoints. */
export interface MirrorTarget {
  readonly target: Target
  /** Of 1. */
  readonly fraction: number
}
