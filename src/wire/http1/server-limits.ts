import type { HeadLimits } from './message.ts'

/** Limits for a client's requests, and timeouts. */
export interface ServerLimits extends HeadLimits {
  /** Milliseconds to wait for a request to begin, and for its head and each part of its body. */
  readonly idle: number
  readonly headTimeout: number
  readonly bodyTimeout: number
  /** Milliseconds for which a client may accept none of its response. */
  readonly writeTimeout: number
  /** Bytes of a request's body; Infinity: no limit. */
  readonly body: number
  /** Whether header names are written in lower case, to backends and to the client. */
  readonly lowersNames: boolean
}
