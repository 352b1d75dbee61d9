import type { Connection } from '../exchange/connection.ts'
import type { Reply } from '../exchange/reply.ts'
import type { RequestId } from '../telemetry/request-id.ts'
import type { Deadlines } from '../wire/deadlines.ts'
import type { Rejection } from '../wire/http1/rejections.ts'
import type { Attempted, RetryReason } from './delivery.ts'
import type { ListenerLookup } from './http-listeners.ts'
import type { ReportError } from './internal-errors.ts'
import type { Load } from './load.ts'
import type { RequestReading } from './port-plan.ts'
import type { UnroutedRequest } from './rejection.ts'
import type { RequestState } from './request-state.ts'

/** Receives events, for logs and metrics. */
export interface Observer {
  opened(connection: Connection): void
  closed(connection: Connection): void
  /** `asked` describes the request, as far as it could be read. */
  requestRejected(connection: Connection, rejection: Rejection, request?: UnroutedRequest): void
  began(state: RequestState): void
  finished(state: RequestState): void
  /** The gateway itself responds; the client has received nothing yet. */
  responding?(state: RequestState, response: Reply): void
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
  nextId(): RequestId
  /** On TLS: whether this host belongs to another certificate than the presented one. */
  isMisdirected?(host: string): boolean
}
