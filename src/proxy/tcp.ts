import type { Socket } from 'node:net'
import type { Connection } from '../exchange/connection.ts'
import type { Attempt } from '../upstream/cluster.ts'
import type { Accepted } from './accept.ts'

/** The backend that was chosen for the bytes of one connection. */
export interface StreamTarget {
  readonly backend: string
  readonly endpoint: string
  /** Opens a socket to it; answers how to give up. */
  open(opened: (socket: Socket) => void, failed: (reason: string) => void): () => void
  /** Called once, when it is over. */
  done(attempt: Attempt): void
}

export interface Streamed {
  readonly reason: string
}

export function serveStream(accepted: Accepted, _socket: Socket, connection: Connection): void {
  accepted.reject('no-route', 'tcp', connection)
}
