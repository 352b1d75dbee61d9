import type { Connection } from '../exchange/connection.ts'
import type { Permit } from '../program/permit.ts'
import type { ListenerProgram } from '../program/program.ts'
import type { Attempt } from '../upstream/cluster.ts'
import type { Dial, Dialing } from '../upstream/connect.ts'

/** The endpoint that was chosen for the bytes of one connection. */
export interface StreamTarget {
  readonly backend: string
  readonly endpoint: string
  /** Only for a connection that was let in. */
  dial(permit: Permit<'connection'>, events: Parameters<Dial>[0]): Dialing
  /** Called once, when it is over. */
  done(attempt: Attempt): void
}

/**
 * Where the bytes of a connection go that is not one of HTTP; a word where nowhere. `tried` are
 * endpoints that could not be reached.
 */
export type StreamRouter = (
  listener: ListenerProgram,
  connection: Connection,
  tried: readonly string[],
) => StreamTarget | string

/** What became of it, in the words of the metrics. */
export type StreamEnd = 'finished' | 'client' | 'upstream' | 'idle' | 'error'

export interface Streamed {
  /** `draining`: the gateway cut it off, since it waited long enough. */
  readonly reason: StreamEnd | 'draining'
  /** More of it, for the log. */
  readonly detail: string
  readonly backend: string
  readonly endpoint: string
  /** From the client, and to it. */
  readonly bytesReceived: number
  readonly bytesSent: number
  readonly milliseconds: number
}
