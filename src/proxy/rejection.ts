import type { Connection } from '../exchange/connection.ts'
import type { ListenerProgram } from '../program/program.ts'
import type { PortPlan } from './port-plan.ts'

/** Why a connection was closed before any of its data was read or proxied. */
export type RejectionWord =
  | 'connections'
  | 'connections-per-address'
  | 'authorization'
  | 'proxy-protocol'
  | 'no-route'
  | 'draining'

/** A request that no listener accepts. */
export interface UnroutedRequest {
  readonly id: string
  readonly method: string
  readonly host: string
  readonly path: string
}

export interface RejectedConnection {
  readonly word: RejectionWord
  /** What the rules, the reader or the router reported. */
  readonly detail: string
  readonly port: number
  readonly gateway: string
  readonly listener: ListenerProgram | undefined
  /** Undefined if it was closed before anything was known about it. */
  readonly connection: Connection | undefined
}

export function rejectedConnection(
  word: RejectionWord,
  detail: string,
  plan: PortPlan,
  listener: ListenerProgram | undefined,
  connection: Connection | undefined,
): RejectedConnection {
  const gateway = plan.listeners[0]?.gateway ?? ''
  return { word, detail, port: plan.port, gateway, listener, connection }
}
