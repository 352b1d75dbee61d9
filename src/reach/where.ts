import type { AiProvider, Backend, McpTarget } from '../model/backend.ts'
import type { Gateway, Listener } from '../model/gateway.ts'
import type { BackendRef, Route, RouteRule } from '../model/route.ts'
import type { TcpRoute } from '../model/tcp-route.ts'

/** A place in the Model, with everything around it. */
export interface Where {
  readonly gateway: Gateway
  readonly listener: Listener
  readonly route?: Route
  readonly rule?: RouteRule
  /** Index of the rule in its route. */
  readonly index?: number
  readonly ref?: BackendRef
  /** Index of the reference in its rule. */
  readonly number?: number
  readonly backend?: Backend | undefined
  /** For an AI backend. */
  readonly provider?: AiProvider
  /** For an MCP backend. */
  readonly server?: McpTarget
}

export interface RoutePlace extends Where {
  readonly route: Route
  /** The names of the route that requests of the listener can have; empty means every name. */
  readonly hostnames: readonly string[]
}

export interface RulePlace extends RoutePlace {
  readonly rule: RouteRule
  readonly index: number
}

/** A backend that a rule refers to; undefined if the Model has none with that name. */
export interface RefPlace extends RulePlace {
  readonly ref: BackendRef
  readonly number: number
  readonly backend: Backend | undefined
}

/** A TCP route, which forwards the bytes of connections. */
export interface StreamPlace extends Where {
  readonly stream: TcpRoute
  readonly hostnames: readonly string[]
}
