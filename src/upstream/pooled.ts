import type { ClientConnection } from '../wire/http1/client-connection.ts'
import { Link } from './linked-list.ts'
import type { Waiting } from './pool.ts'

/** A connection and its account. */
export class Pooled {
  readonly connection: ClientConnection
  /** Its place among the idle. */
  readonly link: Link<Pooled>
  readonly retireAt: number
  /** Of the endpoint, once it was resolved. */
  readonly address: string
  requests = 0
  idleSince = 0

  constructor(connection: ClientConnection, retireAt: number) {
    this.connection = connection
    this.link = new Link<Pooled>(this)
    this.retireAt = retireAt
    this.address = connection.socket.remoteAddress ?? ''
  }
}

/** A request that waits for a connection. */
export class Pending {
  readonly waiting: Waiting
  readonly link: Link<Pending>
  readonly deadline: number

  constructor(waiting: Waiting, deadline: number) {
    this.waiting = waiting
    this.link = new Link<Pending>(this)
    this.deadline = deadline
  }
}

/** Milliseconds before the end that the endpoint announced: the last request must still get there. */
const MARGIN = 1_000
/** Milliseconds after which an endpoint that announces nothing may have closed a connection. */
const UNSURE = 1_000

/** When an idle connection is closed: before the endpoint does, where it says when that is. */
export function idleUntil({ connection }: Pooled, now: number, idleTimeout: number): number {
  const announced = connection.keepAliveTimeout
  return now + Math.min(idleTimeout, announced - Math.min(MARGIN, announced / 2))
}

/** Whether a request that cannot be repeated may go out on a connection that was idle. */
export function isTrusted({ connection, idleSince }: Pooled, now: number): boolean {
  return now - idleSince < UNSURE || Number.isFinite(connection.keepAliveTimeout)
}
