import type { Connection } from '../exchange/connection.ts'
import type { Backend } from '../model/backend.ts'
import { hashOf } from '../model/hash.ts'
import { coverage, reachable } from '../model/hostnames.ts'
import type { Model } from '../model/model.ts'
import type { Attached, ValidPolicy } from '../model/policy.ts'
import type { BackendRef } from '../model/route.ts'
import type { TcpRoute } from '../model/tcp-route.ts'
import { PLACES } from '../model/version.ts'
import { holdsForStreams, policiesOfStream } from '../policies/stream-policies.ts'
import type { Choice, Cluster } from '../upstream/cluster.ts'
import type { ListenerProgram } from './program.ts'
import type { Services } from './services.ts'

/** An endpoint for the octets of a connection. */
export interface StreamChoice {
  readonly backend: string
  readonly choice: Choice
}

/** Routes of connections that are not HTTP: on TCP listeners, and on TLS listeners by server name. */
export class Streams {
  readonly #model: Model
  readonly #services: Services
  readonly clusters: Map<string, Cluster>
  readonly #backends: ReadonlyMap<string, Backend>

  constructor(model: Model, services: Services, previous: Streams | undefined) {
    this.#model = model
    this.#services = services
    this.#backends = new Map(model.backends.map((backend) => [backend.name, backend]))
    this.clusters = new Map()
    for (const route of model.tcpRoutes) this.#openAll(route, previous)
    for (const [key, cluster] of previous?.clusters ?? []) {
      if (!this.clusters.has(key)) cluster.close()
    }
  }

  /** Where a connection goes, or a word for why nowhere. */
  choose(
    { gateway, listener }: ListenerProgram,
    { sni }: Connection,
    tried: readonly string[],
  ): StreamChoice | string {
    const route = this.#match(gateway, listener.name, listener.hostname, sni)
    if (route === undefined) return 'no-route'
    if (route.action.kind === 'invalid') return 'invalid-route'
    const ref = byWeight(route.action.backends, this.#services.random())
    const backend = ref === undefined ? undefined : this.#backends.get(ref.backend)
    if (ref === undefined || backend === undefined) return 'no-backend'
    const cluster = this.clusters.get(keyOf(route, ref, backend))
    if (cluster === undefined) return 'invalid-policy'
    const choice = cluster.choose(undefined, tried)
    return typeof choice === 'string' ? choice : { backend: backend.name, choice }
  }

  close(): void {
    for (const cluster of this.clusters.values()) cluster.close()
  }

  #openAll(route: TcpRoute, previous: Streams | undefined): void {
    if (route.action.kind === 'invalid') return
    for (const ref of route.action.backends) {
      const backend = this.#backends.get(ref.backend)
      if (backend === undefined) continue
      const policies = policiesOfStream(route, ref, backend)
      if (!policies.every(isValid)) continue
      const key = keyOf(route, ref, backend)
      const known = this.clusters.get(key) ?? previous?.clusters.get(key)
      const none = { target: undefined, hashKey: undefined, isFailure: undefined }
      const bare = { ...backend, policies: [] }
      this.clusters.set(key, known ?? this.#services.openCluster(bare, policies, none))
    }
  }

  /** The route with the longest name that covers the server name; exact ones before wildcards. */
  #match(
    gateway: string,
    listener: string,
    name: string | undefined,
    sni = '',
  ): TcpRoute | undefined {
    let best: TcpRoute | undefined
    let bestRank = -1
    for (const route of this.#model.tcpRoutes) {
      const isAttached = route.parents.some(
        (parent) =>
          parent.gateway === gateway &&
          (parent.listener === undefined || parent.listener === listener),
      )
      if (!isAttached) continue
      const rank = rankOf(reachable(route.hostnames, name), sni)
      if (rank > bestRank) {
        best = route
        bestRank = rank
      }
    }
    return best
  }
}

/** -1 where the route is not for this name. */
function rankOf(hostnames: readonly string[] | undefined, sni: string): number {
  if (hostnames === undefined) return -1
  if (hostnames.length === 0) return 0
  const covering = hostnames.filter((hostname) => coverage(hostname)(sni))
  return Math.max(-1, ...covering.map((name) => (name.startsWith('*.') ? name.length : 1_000)))
}

function byWeight<T extends { readonly weight: number }>(
  refs: readonly T[],
  random: number,
): T | undefined {
  let left = refs.reduce((sum, { weight }) => sum + weight, 0) * random
  return refs.find(({ weight }) => weight > 0 && (left -= weight) < 0)
}

/** One that is not leaves its backend without connections: what it says would not hold. */
function isValid(policy: Attached): policy is ValidPolicy {
  return policy.state === 'valid' && holdsForStreams(policy)
}

function keyOf(route: TcpRoute, ref: BackendRef, backend: Backend): string {
  return `${backend.name} ${hashOf([backend, policiesOfStream(route, ref, backend)], PLACES)}`
}
