import type { Backend } from '../../model/backend.ts'
import type { Gateway } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Attached } from '../../model/policy.ts'
import type { Route } from '../../model/route.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import type { Place } from './place.ts'

/** A thing of the Model, and where it was written. */
export interface Placed<T> {
  readonly thing: T
  readonly place: Place
}

export interface PlacedRoute<T> extends Placed<T> {
  /** Of entries that are one rule of a route each, the name of the rule: the last part of its own. */
  readonly ruleName?: string | undefined
}

export interface PlacedBackend extends Placed<Backend> {
  /** The route that defines it in place, as it is in the draft at first. */
  readonly owner?: object
}

/**
 * The Model while its parts are brought together, whatever they were written in: each check returns
 * a new one, in which what is invalid fails closed.
 */
export interface Draft extends Omit<Model, 'gateways' | 'routes' | 'tcpRoutes' | 'backends'> {
  readonly gateways: readonly Placed<Gateway>[]
  readonly routes: readonly PlacedRoute<Route>[]
  readonly tcpRoutes: readonly PlacedRoute<TcpRoute>[]
  readonly backends: readonly PlacedBackend[]
  readonly targeted: readonly Targeted[]
  readonly references: readonly BackendReference[]
  /** Ports that the process listens on itself, with the setting that says so. */
  readonly reservedPorts: ReadonlyMap<number, string>
  /** Whether the endpoints of Kubernetes services are known. */
  readonly resolvesServices: boolean
}

/** A policy at one of its targets, which is looked up when all of them are known. */
export interface Targeted {
  readonly name: string
  readonly noun: 'gateway' | 'listener' | 'route' | 'backend'
  /** Of a listener, `gateway/listener`. */
  readonly target: string
  readonly policies: readonly Attached[]
  /** Of the target, within the policy. */
  readonly place: Place
  /** Of the policy: the same one for all of its targets. */
  readonly whole: Place
}

/** A backend that something names, to be looked up when all are known. */
export interface BackendReference {
  readonly backend: string
  readonly place: Place
  /** Named by a route of HTTP, or by a server of MCP; the others are policies, and TCP routes. */
  readonly isRouted: boolean
}

/** What the draft has come to. */
export function modelOf(draft: Draft): Model {
  const { frontend, llm, mcp, ui } = draft
  return {
    frontend,
    ...(llm === undefined ? {} : { llm }),
    ...(mcp === undefined ? {} : { mcp }),
    ...(ui === undefined ? {} : { ui }),
    gateways: draft.gateways.map(thingOf),
    routes: draft.routes.map(thingOf),
    tcpRoutes: draft.tcpRoutes.map(thingOf),
    backends: draft.backends.map(thingOf),
  }
}

function thingOf<T>({ thing }: Placed<T>): T {
  return thing
}
