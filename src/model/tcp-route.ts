import type { Origin } from '../diagnostics/diagnostic.ts'
import type { Attached } from './policy.ts'
import type { Parent, RouteAction } from './route.ts'

/** A route for the bytes of a connection: on TCP listeners, and on TLS listeners by server name. */
export interface TcpRoute {
  readonly name: string
  readonly origin: Origin
  readonly parents: readonly Parent[]
  /** Server names. If empty, every connection of the listener. */
  readonly hostnames: readonly string[]
  readonly policies: readonly Attached[]
  readonly action: RouteAction
}
