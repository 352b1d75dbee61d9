import type { Connection } from '../exchange/connection.ts'
import type { ListenerProgram } from '../program/program.ts'
import type { Rejection } from '../wire/http1/rejections.ts'
import type { PortPlan } from './port-plan.ts'

/** Why a connection was closed before any of its data was read or proxied. */
export type RejectionWord =
  | 'connections'
  | 'connections-per-address'
  | 'authorization'
  | 'proxy-protocol'
  | 'no-route'
  | 'draining'

/** Why a request was rejected before there was an exchange. */
export interface Unserved {
  readonly word: Rejection['word'] | 'internal'
  readonly status: number
}

/** A request without an exchange, as far as it could be read. */
export interface UnroutedRequest {
  readonly id: string
  readonly gateway?: string | undefined
  readonly method?: string
  readonly host?: string
  readonly path?: string
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
  /** Undefined: the client gets no response. */
  readonly id?: string | undefined
}

export function rejectedConnection(
  word: RejectionWord,
  detail: string,
  plan: PortPlan,
  listener: ListenerProgram | undefined,
  connection: Connection | undefined,
  id?: string,
): RejectedConnection {
  const gateway = plan.listeners[0]?.gateway ?? ''
  return { word, detail, port: plan.port, gateway, listener, connection, id }
}
