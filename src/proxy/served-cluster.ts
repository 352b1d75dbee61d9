import type { Exchange } from '../exchange/exchange.ts'
import type { Backend } from '../model/backend.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Choice } from '../upstream/cluster.ts'
import type { ClusterCounts, OpenCluster } from '../upstream/clusters.ts'

/**
 * The cluster of a backend in a running gateway. A cluster without any policy does nothing before
 * its first request, which opens it: of thousands of backends most have none for a long time.
 */
export class ServedCluster implements OpenCluster {
  readonly name: string
  /** The number of endpoints; undefined if it must be open from the start, to probe them. */
  readonly #endpoints: number | undefined
  readonly #open: () => OpenCluster
  readonly #closed: (cluster: ServedCluster) => void
  #opened: OpenCluster | undefined
  #isClosed = false

  constructor(
    backend: Backend,
    policies: readonly ValidPolicy[],
    open: () => OpenCluster,
    closed: (cluster: ServedCluster) => void,
  ) {
    this.name = backend.name
    this.#open = open
    this.#closed = closed
    this.#endpoints = policies.length > 0 ? undefined : endpointsOf(backend)
    if (this.#endpoints === undefined) this.#opened = open()
  }

  get isHealthy(): boolean {
    return this.#opened?.isHealthy ?? (this.#endpoints ?? 0) > 0
  }

  get active(): number {
    return this.#opened?.active ?? 0
  }

  choose(exchange: Exchange | undefined, tried: readonly string[]): Choice | string {
    return (this.#opened ?? this.#openLate()).choose(exchange, tried)
  }

  close(): void {
    this.#isClosed = true
    this.#opened?.close()
    this.#closed(this)
  }

  counts(): ClusterCounts {
    return this.#opened?.counts() ?? { ...UNUSED, healthy: this.#endpoints ?? 0 }
  }

  #openLate(): OpenCluster {
    const opened = this.#open()
    this.#opened = opened
    // A request that began on the previous Program: it is served, and nothing is kept afterwards.
    if (this.#isClosed) opened.close()
    return opened
  }
}

const UNUSED = { open: 0, idle: 0, waiting: 0, unhealthy: 0, ejected: 0 } as const

/** Undefined for kinds whose endpoints are not known in advance. */
function endpointsOf(backend: Backend): number | undefined {
  if (backend.kind === 'unix' || backend.kind === 'admin') return 1
  if (backend.kind !== 'host' || backend.policies.length > 0) return undefined
  return backend.endpoints.length
}
