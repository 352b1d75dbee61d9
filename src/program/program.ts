import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Reply } from '../exchange/reply.ts'
import type { Step } from '../exchange/step.ts'
import type { Listener } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Cluster } from '../upstream/cluster.ts'

/** The Model compiled. Never changed; swapped whole. */
export interface Program {
  readonly model: Model
  readonly listeners: readonly ListenerProgram[]
  /** All that there is to say of the Model, of its expressions too. */
  readonly diagnostics: readonly Diagnostic[]
  /** Clusters by the backend's name; shared with the Program before where nothing changed. */
  readonly clusters: ReadonlyMap<string, Cluster>
}

export interface ListenerProgram {
  readonly gateway: string
  readonly listener: Listener
  /** Runs before a route is chosen: policies of the gateway and the listener. */
  readonly steps: readonly Step[]
  /** The best route for this request, by the rules of the Gateway API; undefined: 404. */
  match(exchange: Exchange): RouteProgram | undefined
}

export interface RouteProgram {
  readonly name: string
  readonly rule: string
  /** The policies of the route's own level, after those of the listener ran. */
  readonly steps: readonly Step[]
  /** A backend by weight; a Reply where there is none to choose. */
  choose(exchange: Exchange): BackendProgram | Reply
  readonly timeouts: Timeouts
  readonly retry: Retry | undefined
  readonly mirrors: readonly Mirror[]
}

export interface BackendProgram {
  readonly name: string
  readonly cluster: Cluster
  /** Policies of the backend stage, run after the backend was chosen. */
  readonly steps: readonly Step[]
}

/** Milliseconds; 0: none. */
export interface Timeouts {
  /** From the request's head to the end of the answer. */
  readonly request: number
  /** For each attempt, until the answer's head. */
  readonly backendRequest: number
}

export interface Retry {
  readonly attempts: number
  readonly statuses: ReadonlySet<number>
  /** Also where the connection broke before anything was answered. */
  readonly onConnectionError: boolean
  /** Milliseconds before the second attempt; doubled each time. */
  readonly backoff: number
  /** Octets of a body that are kept so that it can be sent again. */
  readonly mostBody: number
}

export interface Mirror {
  readonly cluster: Cluster
  /** Of 1. */
  readonly fraction: number
}

