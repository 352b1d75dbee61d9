import type { ClientConnection } from '../wire/http1/client-connection.ts'
import { Link } from './linked-list.ts'
import type { Waiting } from './pool.ts'

/** A connection and its usage. */
export class Pooled {
  readonly connection: ClientConnection
  /** Its node in the idle list. */
  readonly link: Link<Pooled>
  readonly retireAt: number
  /** The endpoint's address after resolution. */
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

/** Milliseconds before the announced timeout: the last request must still reach the endpoint. */
const MARGIN = 1_000
/** Milliseconds after which an endpoint that announces no timeout may have closed a connection. */
const UNSURE = 1_000

/** When to close an idle connection: before the endpoint does, if it announces its timeout. */
export function idleUntil({ connection }: Pooled, now: number, idleTimeout: number): number {
  const announced = connection.keepAliveTimeout
  return now + Math.min(idleTimeout, announced - Math.min(MARGIN, announced / 2))
}

/** Whether a request that cannot be repeated may use a connection that was idle. */
export function isTrusted({ connection, idleSince }: Pooled, now: number): boolean {
  return now - idleSince < UNSURE || Number.isFinite(connection.keepAliveTimeout)
}
