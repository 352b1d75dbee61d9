import type { Exchange } from '../exchange/exchange.ts'
import type { UpstreamConnection } from '../wire/upstream-connection.ts'
import type { DialEvents, Dialing } from './connect.ts'
import type { Waiting } from './pool.ts'

/** The result of one request to an endpoint, for load balancing, health and outlier detection. */
export interface Attempt {
  readonly outcome: 'responded' | 'connect-failed' | 'reset' | 'timeout' | 'cancelled'
  /** The status code, or 0 if there was no response. */
  readonly status: number
  /** Milliseconds from the choice of the endpoint to the end of the response. */
  readonly duration: number
}

/** Connections to one address, for any protocol. */
export interface RequestPool {
  readonly isFull: boolean
  readonly open: number
  readonly idle: number
  readonly waiting: number
  /** Returns a free connection; undefined if there is none: then call `request`. */
  take(isRepeatable?: boolean): UpstreamConnection | undefined
  request(waiting: Waiting): void
  cancel(waiting: Waiting): void
  /** Opens a connection for raw bytes instead of requests. */
  connect(events: DialEvents): Dialing
  /** Sets the addresses that the name resolves to now. */
  follow(addresses: readonly string[]): void
  close(): void
}

/** An endpoint chosen for one request. */
export interface Choice {
  readonly pool: RequestPool
  /** `10.0.0.7:8080` or the name as configured, for logs and metrics. */
  readonly endpoint: string
  /** The Host header for the upstream unless the route sets one; empty: the client's. */
  readonly host: string
  /** The authority of backends that expect their own name, with the port; empty for an address. */
  readonly name?: string
  /** Must be called once, when the attempt is over. */
  done(attempt: Attempt): void
}

/** The endpoints of one backend. Survives reloads as long as its part of the Model is unchanged. */
export interface Cluster {
  readonly name: string
  /** Whether at least one endpoint is healthy according to health checks and responses. */
  readonly isHealthy: boolean
  /** Requests in progress on its endpoints. */
  readonly active: number
  /**
   * Returns an endpoint for this request (undefined: for a connection that carries raw bytes,
   * through `pool.connect`), or why there is none: `no-endpoint`, `unhealthy`, `overloaded`.
   */
  choose(exchange: Exchange | undefined, tried: readonly string[]): Choice | string
  /** Closes idle connections and stops probes; no more requests follow. */
  close(): void
}
