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
import type { Asked } from './rejection.ts'
import type { RequestState } from './request-state.ts'

/** Who is told what happened: logs, metrics. */
export interface Observer {
  opened(connection: Connection): void
  closed(connection: Connection): void
  /** `asked`: what was asked for, as far as it could be read. */
  requestRejected(connection: Connection, rejection: Rejection, asked?: Asked): void
  began(state: RequestState): void
  finished(state: RequestState): void
  /** The gateway responds by itself; the client has nothing of it yet. */
  responding?(state: RequestState, response: Reply): void
  /** A request to a backend is over. */
  attempted?(backend: string, attempted: Attempted): void
  retried?(backend: string, reason: RetryReason): void
  /** Something threw: an error of ours. */
  broke?: ReportError
}

/** What all connections of a port share; asked anew for each request. */
export interface Port {
  readonly listeners: ListenerLookup
  readonly observer: Observer
  readonly deadlines: Deadlines
  /** Bytes of a body that an expression may read. */
  readonly maxBody: number
  /** Bytes of JSON that an expression may read; without it, as of a body. */
  readonly maxJson?: number | undefined
  /** Bytes of a body that may be sent at all. */
  readonly maxUpload: number
  /** Proxies in front whose entries in X-Forwarded-For are believed. */
  readonly trustedHops: number
  /** What becomes of paths and names first; without it as by default. */
  readonly reading?: RequestReading | undefined
  /** How much there is to do; without it all is taken on. */
  readonly load?: Load | undefined
  nextId(): RequestId
  /** On TLS: whether this host belongs to another certificate than the one that was shown. */
  isMisdirected?(host: string): boolean
}
