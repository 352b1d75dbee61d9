import type { Connection } from '../exchange/connection.ts'
import type { Permit } from '../program/permit.ts'
import type { ListenerProgram } from '../program/program.ts'
import type { Attempt } from '../upstream/cluster.ts'
import type { Dial, Dialing } from '../upstream/connect.ts'

/** The endpoint that was selected for the bytes of one connection. */
export interface StreamTarget {
  readonly backend: string
  readonly endpoint: string
  /** Only for an admitted connection. */
  dial(permit: Permit<'connection'>, events: Parameters<Dial>[0]): Dialing
  /** Called once, when the connection is over. */
  done(attempt: Attempt): void
}

/**
 * Selects the target for the bytes of a connection that is not HTTP; returns a word if there is
 * none. `tried` are endpoints that could not be reached.
 */
export type StreamRouter = (
  listener: ListenerProgram,
  connection: Connection,
  tried: readonly string[],
) => StreamTarget | string

/** The outcome, as labeled in metrics. */
export type StreamEnd = 'finished' | 'client' | 'upstream' | 'idle' | 'error'

export interface Streamed {
  /** `draining`: the gateway cut it off, after waiting long enough. */
  readonly reason: StreamEnd | 'draining'
  /** Details for the log. */
  readonly detail: string
  readonly backend: string
  readonly endpoint: string
  /** From the client, and to it. */
  readonly bytesReceived: number
  readonly bytesSent: number
  readonly milliseconds: number
}
