import type { Exchange } from '../exchange/exchange.ts'
import type { UpstreamConnection } from '../wire/upstream-connection.ts'
import type { DialEvents, Dialing } from './connect.ts'
import type { Waiting } from './pool.ts'

/** What became of one request to an endpoint, for balancing, health and outlier detection. */
export interface Attempt {
  readonly outcome: 'responded' | 'connect-failed' | 'reset' | 'timeout' | 'cancelled'
  /** The status, where there was a response. */
  readonly status: number
  /** Milliseconds from the choice to the end of the response. */
  readonly duration: number
}

/** Connections to one address, whatever they speak. */
export interface RequestPool {
  readonly isFull: boolean
  readonly open: number
  readonly idle: number
  readonly waiting: number
  /** A connection that is free now, or undefined: then ask for one. */
  take(isRepeatable?: boolean): UpstreamConnection | undefined
  request(waiting: Waiting): void
  cancel(waiting: Waiting): void
  /** A connection for bytes instead of requests. */
  connect(events: DialEvents): Dialing
  /** The addresses that its name leads to now. */
  follow(addresses: readonly string[]): void
  close(): void
}

/** One address that was chosen for one request. */
export interface Choice {
  readonly pool: RequestPool
  /** `10.0.0.7:8080` or the name as configured, for logs and metrics. */
  readonly endpoint: string
  /** What the upstream is told as Host where the route does not say otherwise; empty: the client's. */
  readonly host: string
  /** Its own name with its port, for backends that are to be asked for by it; empty: an address. */
  readonly name?: string
  /** Must be called once, when the attempt is over. */
  done(attempt: Attempt): void
}

/** The endpoints of one backend. Lives on across reloads as long as its part of the Model is equal. */
export interface Cluster {
  readonly name: string
  /** Some endpoint of it is well, as far as its checks and its responses tell. */
  readonly isHealthy: boolean
  /** Requests that its endpoints are at work on. */
  readonly active: number
  /**
   * An endpoint for this request (undefined: for a connection that carries bytes, by way of
   * `pool.connect`); a word where there is none: `no-endpoint`, `unhealthy`, `overloaded`.
   */
  choose(exchange: Exchange | undefined, tried: readonly string[]): Choice | string
  /** No more requests will come: idle connections close, probes stop. */
  close(): void
}
