import type { HeadLimits } from './message.ts'

/** What a client may ask of a connection, and how long it may take. */
export interface ServerLimits extends HeadLimits {
  /** Milliseconds to wait for a request to begin, and for its head and each part of its body. */
  readonly idle: number
  readonly headTimeout: number
  readonly bodyTimeout: number
  /** Milliseconds that a client may take none of its response. */
  readonly writeTimeout: number
  /** Bytes of a request's body; Infinity: as many as it likes. */
  readonly body: number
  /** Whether names of headers are written in lower case, to backends and to the client. */
  readonly lowersNames: boolean
}
