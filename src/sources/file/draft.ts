import type { Backend } from '../../model/backend.ts'
import type { Gateway } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Attached } from '../../model/policy.ts'
import type { Route } from '../../model/route.ts'
import type { Settings } from '../../model/settings.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import type { Path } from './document.ts'

/** A thing of the Model and where it was written. */
export interface Placed<T> {
  readonly thing: T
  readonly path: Path
}

/** The Model while its parts are brought together: each step answers a new one. */
export interface Draft extends Omit<Model, 'gateways' | 'routes' | 'tcpRoutes' | 'backends'> {
  readonly gateways: readonly Placed<Gateway>[]
  readonly routes: readonly Placed<Route>[]
  readonly tcpRoutes: readonly Placed<TcpRoute>[]
  readonly backends: readonly Placed<Backend>[]
  readonly targeted: readonly Targeted[]
  /** Their ports are no longer free for listeners. */
  readonly settings: Settings
}

/** A policy at one of its targets, which is looked up when all of them are known. */
export interface Targeted {
  readonly name: string
  readonly noun: 'gateway' | 'listener' | 'route' | 'backend'
  /** Of a listener, `gateway/listener`. */
  readonly target: string
  readonly policies: readonly Attached[]
  /** Of the target, within the policy. */
  readonly path: Path
}
