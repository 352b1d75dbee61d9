import { isIP } from 'node:net'
import type { Exchange } from '../exchange/exchange.ts'
import type { Endpoint } from '../model/backend.ts'
import type { Choice, RequestPool } from './cluster.ts'
import type { ClusterPlan } from './cluster-plan.ts'
import type { ClusterCounts, ClusterDeps, ClusterExpressions, OpenCluster } from './clusters.ts'
import { dialer } from './connect.ts'
import {
  authorityOf,
  type ClusterParts,
  dialOptions,
  endpointName,
  followName,
  openPool,
} from './fixed-cluster.ts'

/** Max targets with open pools; the least recently used one is evicted. */
const MAX_TARGETS = 1_024

interface Target {
  readonly endpoint: string
  readonly host: string
  readonly pool: RequestPool
  readonly unfollow: () => void
}

/**
 * Each request names its target. A client must not reach this machine itself: for every connection,
 * the gateway checks the addresses after the name is resolved.
 */
export class DynamicCluster implements OpenCluster {
  readonly name: string
  /** Each request names another target: the result of one says nothing about the next. */
  readonly isHealthy = true
  readonly active = 0
  readonly #plan: ClusterPlan
  readonly #expressions: ClusterExpressions
  readonly #clusterDeps: ClusterDeps
  readonly #max: number
  /** In order of use, the most recently used target last. */
  readonly #targets = new Map<string, Target>()
  #isClosed = false

  constructor({ name, plan, expressions, clusterDeps }: ClusterParts, max: number = MAX_TARGETS) {
    this.name = name
    this.#plan = plan
    this.#expressions = expressions
    this.#clusterDeps = clusterDeps
    this.#max = max
  }

  choose(exchange: Exchange | undefined): Choice | string {
    if (exchange === undefined) return 'no-target'
    const { target } = this.#expressions
    const wanted = target === undefined ? requestedHost(exchange) : target(exchange)
    if (wanted === undefined || wanted === '') return 'no-target'
    const found = this.#targets.get(wanted) ?? this.#open(wanted)
    if (typeof found === 'string') return found
    this.#targets.delete(wanted)
    this.#targets.set(wanted, found)
    if (found.pool.isFull) return 'overloaded'
    const host = target === undefined ? '' : found.host
    return { pool: found.pool, endpoint: found.endpoint, host, done: () => {} }
  }

  close(): void {
    this.#isClosed = true
    for (const { pool, unfollow } of this.#targets.values()) {
      unfollow()
      pool.close()
    }
  }

  counts(): ClusterCounts {
    const pools = [...this.#targets.values()].map(({ pool }) => pool)
    const sum = (count: (pool: RequestPool) => number) =>
      pools.reduce((total, pool) => total + count(pool), 0)
    return {
      open: sum(({ open }) => open),
      idle: sum(({ idle }) => idle),
      waiting: sum(({ waiting }) => waiting),
      healthy: pools.length,
      unhealthy: 0,
      ejected: 0,
    }
  }

  #open(wanted: string): Target | string {
    const endpoint = parseTarget(wanted, this.#plan.tls === undefined ? 80 : 443)
    if (endpoint === undefined) return 'bad-target'
    for (const [oldest, { pool, unfollow }] of this.#targets) {
      if (this.#targets.size < this.#max) break
      this.#targets.delete(oldest)
      unfollow()
      pool.close()
    }
    const { deadlines, observe, allowLocalTargets } = this.#clusterDeps
    const rejectsLocal = allowLocalTargets !== true
    const options = { ...dialOptions(endpoint, this.#plan, this.#clusterDeps), rejectsLocal }
    const { host, port } = endpoint
    const dial = dialer({ kind: 'tcp', host, port }, options)
    const pool = openPool(dial, this.#plan, deadlines, observe?.(this.name))
    if (this.#isClosed) pool.close()
    const unfollow = this.#isClosed ? () => {} : followName(this.#clusterDeps, host, pool)
    return { endpoint: endpointName(endpoint), host: authorityOf(endpoint), pool, unfollow }
  }
}

/** The host of the request, with the port from the Host header. */
function requestedHost({ request }: Exchange): string {
  const port = /:\d+$/.exec(request.headers.get('host') ?? '')?.[0] ?? ''
  return request.host === '' ? '' : `${request.host}${port}`
}

/** Accepts `host`, `host:port`, `[::1]:80` or a URL without a path. */
export function parseTarget(text: string, defaultPort: number): Endpoint | undefined {
  const match = /^(?:(https?):\/\/)?(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?\/?$/i.exec(
    text,
  )
  if (match === null) return undefined
  const scheme = match[1]?.toLowerCase() as Endpoint['scheme']
  const host = (match[2] ?? '').replace(/^\[|\]$/g, '').toLowerCase()
  const port = match[3] === undefined ? portOf(scheme, defaultPort) : Number(match[3])
  if (host.length > 253 || port < 1 || port > 65_535) return undefined
  // Some resolvers treat 0x7f.1, 2130706433 and 127.1 as loopback: only one spelling is accepted.
  const endsInNumber = /(^|\.)([0-9]+|0x[0-9a-f]*)\.?$/.test(host)
  if (endsInNumber && isIP(host) === 0) return undefined
  return scheme === undefined ? { host, port } : { host, port, scheme }
}

function portOf(scheme: Endpoint['scheme'], defaultPort: number): number {
  if (scheme === undefined) return defaultPort
  return scheme === 'https' ? 443 : 80
}
