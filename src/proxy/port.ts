import type { Connection } from '../exchange/connection.ts'
import type { Reply } from '../exchange/reply.ts'
import type { RequestId } from '../telemetry/request-id.ts'
import type { Deadlines } from '../wire/deadlines.ts'
import type { Attempted, RetryReason } from './attempt-outcome.ts'
import type { ListenerLookup } from './http-listeners.ts'
import type { ReportError } from './internal-errors.ts'
import type { Load } from './load.ts'
import type { RequestReading } from './port-plan.ts'
import type { UnroutedRequest, Unserved } from './rejection.ts'
import type { RequestState } from './request-state.ts'

/** Receives events, for logs and metrics. */
export interface Observer {
  opened(connection: Connection): void
  closed(connection: Connection): void
  /** Called before the client has the response, if it gets one. */
  requestRejected(connection: Connection, rejection: Unserved, request: UnroutedRequest): void
  began(state: RequestState): void
  finished(state: RequestState): void
  /** The gateway itself responds; the client has received nothing yet. */
  responding(state: RequestState, response: Reply, status: number): void
  /** A request to a backend is over. */
  attempted?(backend: string, attempted: Attempted): void
  retried?(backend: string, reason: RetryReason): void
  /** Something threw, which is a bug. */
  broke?: ReportError
}

/** Shared by all connections of a port; read again for each request. */
export interface Port {
  readonly listeners: ListenerLookup
  readonly observer: Observer
  readonly deadlines: Deadlines
  /** Max bytes of a body that an expression may read. */
  readonly maxBody: number
  /** The same of a call to a model; by default, as of any body. */
  readonly maxModelBody?: number | undefined
  /** Max bytes of JSON that an expression may read; by default, as of a body. */
  readonly maxJson?: number | undefined
  /** Max bytes of a body that may be sent at all. */
  readonly maxUpload: number
  /** The number of proxies in front whose entries in X-Forwarded-For are trusted. */
  readonly trustedHops: number
  /** How paths and names are read first; if absent, as by default. */
  readonly reading?: RequestReading | undefined
  /** The load of the process; if absent, all requests are accepted. */
  readonly load?: Load | undefined
  /** The gateway of its first listener. */
  readonly gateway?: string
  nextId(): RequestId
  /** On TLS: whether this host belongs to another certificate than the presented one. */
  isMisdirected?(host: string): boolean
}
