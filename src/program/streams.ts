import type { Connection } from '../exchange/connection.ts'
import type { Backend } from '../model/backend.ts'
import { hashOf } from '../model/hash.ts'
import type { Model } from '../model/model.ts'
import { isPlace } from '../model/places.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { BackendRef } from '../model/route.ts'
import type { TcpRoute } from '../model/tcp-route.ts'
import { effectiveAt } from '../reach/effective.ts'
import { Reach } from '../reach/reach.ts'
import { holdsForStreams } from '../reach/stream-policies.ts'
import { streamFor } from '../reach/streams.ts'
import type { StreamPlace } from '../reach/where.ts'
import type { Choice, Cluster } from '../upstream/cluster.ts'
import type { CompileDeps } from './compile-deps.ts'
import type { ListenerProgram } from './program.ts'

/** An endpoint for the bytes of a connection. */
export interface StreamChoice {
  readonly backend: string
  readonly choice: Choice
}

/**
 * Routes of connections that are not HTTP: on TCP listeners, and on TLS listeners by server name.
 */
export class Streams {
  readonly #reach: Reach
  readonly #services: CompileDeps
  readonly clusters: Map<string, Cluster>
  /** Keyed by gateway and listener. */
  readonly #places = new Map<string, readonly StreamPlace[]>()
  readonly #byRef = new Map<TcpRoute, Map<BackendRef, Cluster>>()

  constructor(model: Model, services: CompileDeps, previous: Streams | undefined) {
    this.#reach = new Reach(model)
    this.#services = services
    this.clusters = new Map()
    for (const where of this.#reach.listeners()) {
      const { gateway, listener } = where
      const places = [...this.#reach.streamsOn(where)]
      if (places.length > 0) this.#places.set(`${gateway.name} ${listener.name}`, places)
    }
    for (const route of model.tcpRoutes) this.#openAll(route, previous)
    for (const [key, cluster] of previous?.clusters ?? []) {
      if (!this.clusters.has(key)) cluster.close()
    }
  }

  /** The endpoint of a connection, or a code that says why there is none. */
  choose(
    { gateway, listener }: ListenerProgram,
    { sni }: Connection,
    tried: readonly string[],
  ): StreamChoice | string {
    const route = streamFor(this.#places.get(`${gateway} ${listener.name}`) ?? [], sni)
    if (route === undefined) return 'no-route'
    if (route.action.kind === 'invalid') return 'invalid-route'
    const ref = byWeight(route.action.backends, this.#services.random())
    const backend = ref === undefined ? undefined : this.#reach.backends.get(ref.backend)
    if (ref === undefined || backend === undefined) return 'no-backend'
    const cluster = this.#byRef.get(route)?.get(ref)
    if (cluster === undefined) return 'invalid-policy'
    const choice = cluster.choose(undefined, tried)
    return typeof choice === 'string' ? choice : { backend: backend.name, choice }
  }

  close(): void {
    for (const cluster of this.clusters.values()) cluster.close()
  }

  #openAll(route: TcpRoute, previous: Streams | undefined): void {
    if (route.action.kind === 'invalid') return
    const own = new Map<BackendRef, Cluster>()
    this.#byRef.set(route, own)
    for (const ref of route.action.backends) {
      const backend = this.#reach.backends.get(ref.backend)
      if (backend === undefined) continue
      const policies = this.#policiesOf(route, ref, backend)
      if (policies === undefined) continue
      const key = keyOf(backend, policies)
      const known = this.clusters.get(key) ?? previous?.clusters.get(key)
      const none = { target: undefined, hashKey: undefined, isFailure: undefined }
      const bare = { ...backend, policies: [] }
      const cluster = known ?? this.#services.openCluster(bare, policies, none)
      this.clusters.set(key, cluster)
      own.set(ref, cluster)
    }
  }

  /** Undefined if one of them cannot apply to streams: its backend gets no connections. */
  #policiesOf(
    stream: TcpRoute,
    ref: BackendRef,
    backend: Backend,
  ): readonly ValidPolicy[] | undefined {
    const layers = this.#reach.aroundStream({ stream }, { ref, backend })
    if (!layers.every(({ policies }) => policies.every(holdsForStreams))) return undefined
    const { byKind, invalid } = effectiveAt(layers, 'backend')
    return invalid.length > 0 ? undefined : [...byKind.values()].flat()
  }
}

function byWeight<T extends { readonly weight: number }>(
  refs: readonly T[],
  random: number,
): T | undefined {
  let left = refs.reduce((sum, { weight }) => sum + weight, 0) * random
  return refs.find(({ weight }) => weight > 0 && (left -= weight) < 0)
}

function keyOf(backend: Backend, policies: readonly ValidPolicy[]): string {
  return `${backend.name} ${hashOf([backend, policies], isPlace)}`
}
