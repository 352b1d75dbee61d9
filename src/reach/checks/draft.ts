import type { Backend } from '../../model/backend.ts'
import type { Gateway } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Attached } from '../../model/policy.ts'
import type { Route } from '../../model/route.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import type { Place } from './place.ts'

/** An object of the Model, and where it was written. */
export interface Placed<T> {
  readonly thing: T
  readonly place: Place
}

export interface PlacedRoute<T> extends Placed<T> {
  /**
   * For entries that are one rule of a route each, the name of the rule: the last part of the
   * entry's name.
   */
  readonly ruleName?: string | undefined
}

export interface PlacedBackend extends Placed<Backend> {
  /** The route that defines it in place, as first added to the draft. */
  readonly owner?: object
}

/**
 * The Model while its parts are assembled, regardless of the format they were written in: each
 * check returns a new one, in which invalid parts fail closed.
 */
export interface Draft extends Omit<Model, 'gateways' | 'routes' | 'tcpRoutes' | 'backends'> {
  readonly gateways: readonly Placed<Gateway>[]
  readonly routes: readonly PlacedRoute<Route>[]
  readonly tcpRoutes: readonly PlacedRoute<TcpRoute>[]
  readonly backends: readonly PlacedBackend[]
  readonly targeted: readonly Targeted[]
  readonly references: readonly BackendReference[]
  /** Ports that the process itself listens on, each with the setting that defines it. */
  readonly reservedPorts: ReadonlyMap<number, string>
  /** Whether the endpoints of Kubernetes services are known. */
  readonly resolvesServices: boolean
}

/** A policy at one of its targets, which is looked up once all of them are known. */
export interface Targeted {
  readonly name: string
  readonly noun: 'gateway' | 'listener' | 'route' | 'backend'
  /** For a listener, `gateway/listener`. */
  readonly target: string
  readonly policies: readonly Attached[]
  /** The place of the target, within the policy. */
  readonly place: Place
  /** The place of the policy: the same one for all of its targets. */
  readonly whole: Place
}

/** A reference to a backend, which is looked up once all backends are known. */
export interface BackendReference {
  readonly backend: string
  readonly place: Place
  /** Whether an HTTP route or an MCP server names it; the others are policies and TCP routes. */
  readonly isRouted: boolean
}

/** The Model that results from the draft. */
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
