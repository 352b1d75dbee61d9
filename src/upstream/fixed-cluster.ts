import { isIP } from 'node:net'
import type { Exchange, PickedEndpoints } from '../exchange/exchange.ts'
import type { Endpoint, UnixEndpoint } from '../model/backend.ts'
import type { Deadlines } from '../wire/deadlines.ts'
import { type BackendTLS, handshakeWith, PLAIN_TLS } from './backend-tls.ts'
import { type Balanced, type Balancer, balancer } from './balance.ts'
import type { Attempt, Choice, RequestPool } from './cluster.ts'
import type { ClusterPlan } from './cluster-plan.ts'
import type {
  ClusterCounts,
  ClusterDeps,
  ClusterExpressions,
  ClusterObserver,
  OpenCluster,
} from './clusters.ts'
import { type Destination, type Dial, type DialOptions, dialer } from './connect.ts'
import { watchHealth } from './health.ts'
import { http2Pool } from './http2-pool.ts'
import { type OutlierEvents, Outliers } from './outlier.ts'
import { Pool } from './pool.ts'

export interface ClusterParts {
  readonly name: string
  readonly plan: ClusterPlan
  readonly expressions: ClusterExpressions
  readonly clusterDeps: ClusterDeps
}

/** An address or a Unix socket. */
export type FixedEndpoint = Endpoint | UnixEndpoint

/** An endpoint with its pool and its health. */
class Member implements Balanced {
  readonly name: string
  readonly host: string
  /** The name of the endpoint with its port; empty if it has only an address. */
  readonly authority: string
  readonly pool: RequestPool
  readonly at: number
  readonly weight = 1
  active = 0
  isHealthy = true
  isEjected = false

  constructor(endpoint: FixedEndpoint, pool: RequestPool, at: number) {
    this.name = endpointName(endpoint)
    this.host = hostOf(endpoint)
    this.authority = 'path' in endpoint || isIP(endpoint.host) > 0 ? '' : authorityOf(endpoint)
    this.pool = pool
    this.at = at
  }

  get isUsable(): boolean {
    return this.isHealthy && !this.isEjected
  }
}

/** A cluster whose endpoints are known in advance. */
export class FixedCluster implements OpenCluster {
  readonly name: string
  readonly #members: readonly Member[]
  readonly #balancer: Balancer<Member>
  readonly #outliers: Outliers | undefined
  readonly #isFailure: ((exchange: Exchange) => boolean) | undefined
  readonly #stops: readonly (() => void)[]

  constructor(parts: ClusterParts & { readonly endpoints: readonly FixedEndpoint[] }) {
    const { name, endpoints, plan, expressions, clusterDeps } = parts
    const { deadlines } = clusterDeps
    const observer = clusterDeps.observe?.(name)
    this.name = name
    this.#isFailure = expressions.isFailure
    this.#members = endpoints.map((endpoint, at) => {
      const dial = dialer(destinationOf(endpoint), dialOptions(endpoint, plan, clusterDeps))
      return new Member(endpoint, openPool(dial, plan, deadlines, observer), at)
    })
    const follows = endpoints.map((endpoint, at) => {
      const { pool } = this.#members[at] as Member
      return 'path' in endpoint ? () => {} : followName(clusterDeps, endpoint.host, pool)
    })
    this.#balancer = balancer(plan.algorithm, this.#members, { hashKey: expressions.hashKey })
    const { eviction, healthCheck } = plan
    this.#outliers = eviction && new Outliers(endpoints.length, eviction, this.#watcher(observer))
    const checks =
      healthCheck === undefined
        ? []
        : endpoints.map((endpoint, at) => {
            const destination = destinationOf(endpoint, healthCheck.port)
            // gRPC servers often serve health checks over HTTP/1.1 on another port.
            const { port } = healthCheck
            const isSamePort = port === undefined || ('port' in endpoint && port === endpoint.port)
            const isHttp2 = plan.isHttp2 && isSamePort
            const options = dialOptions(endpoint, { ...plan, isHttp2 }, clusterDeps)
            const dial = dialer(destination, { ...options, timeout: healthCheck.timeout })
            const member = this.#members[at] as Member
            const host = 'path' in endpoint ? 'localhost' : authorityOf(endpoint)
            return watchHealth(
              healthCheck,
              { dial, host, deadlines, limits: plan.pool.head, isHttp2 },
              {
                checked: (outcome) => observer?.checked(member.name, outcome),
                changed: (isHealthy) => {
                  member.isHealthy = isHealthy
                  this.#balancer.update()
                  observer?.healthChanged(member.name, isHealthy)
                },
              },
            )
          })
    this.#stops = [...follows, ...checks]
  }

  get isHealthy(): boolean {
    return this.#members.some(({ isUsable }) => isUsable)
  }

  get active(): number {
    return this.#members.reduce((total, { active }) => total + active, 0)
  }

  choose(exchange: Exchange | undefined, tried: readonly string[]): Choice | string {
    const picked = exchange?.picked
    const own = picked?.backend === this.name ? this.#pickedOf(picked, tried) : undefined
    if (own === undefined && picked?.backend === this.name && !picked.isOpen) return 'no-endpoint'
    const member = own ?? this.#balancer.pick(exchange, tried)
    if (member === undefined) return this.#members.length === 0 ? 'no-endpoint' : 'unhealthy'
    if (member.pool.isFull) return 'overloaded'
    member.active++
    return new Chosen(member, this, exchange)
  }

  /**
   * The first healthy untried endpoint, or else any healthy one; only among this cluster's members.
   */
  #pickedOf({ endpoints }: PickedEndpoints, tried: readonly string[]): Member | undefined {
    const own = endpoints.flatMap((name) => {
      const member = this.#members.find((one) => one.name === name)
      return member?.isUsable ? [member] : []
    })
    return own.find(({ name }) => !tried.includes(name)) ?? own[0]
  }

  close(): void {
    for (const stop of this.#stops) stop()
    this.#outliers?.close()
    for (const { pool } of this.#members) pool.close()
  }

  counts(): ClusterCounts {
    const sum = (count: (member: Member) => number) =>
      this.#members.reduce((total, member) => total + count(member), 0)
    return {
      open: sum(({ pool }) => pool.open),
      idle: sum(({ pool }) => pool.idle),
      waiting: sum(({ pool }) => pool.waiting),
      healthy: sum(({ isUsable }) => (isUsable ? 1 : 0)),
      unhealthy: sum(({ isHealthy }) => (isHealthy ? 0 : 1)),
      ejected: sum(({ isHealthy, isEjected }) => (isHealthy && isEjected ? 1 : 0)),
    }
  }

  over(member: Member, exchange: Exchange | undefined, attempt: Attempt): void {
    member.active--
    if (this.#outliers === undefined) return
    // Responses to mirrored requests are not judged: the exchange holds another backend's response.
    const hasResponded = attempt.outcome === 'responded' && attempt.status > 0
    const judged = hasResponded && exchange !== undefined ? this.#judge(exchange) : undefined
    this.#outliers.observe(member.at, attempt, judged)
  }

  /** Undefined if the HTTP status alone decides. */
  #judge(exchange: Exchange): boolean | undefined {
    if (this.#isFailure !== undefined) return this.#isFailure(exchange)
    return GRPC_FAULTS.has(exchange.grpcStatus) ? true : undefined
  }

  #watcher(observer: ClusterObserver | undefined): OutlierEvents {
    const set = (at: number, isEjected: boolean) => {
      const member = this.#members[at] as Member
      member.isEjected = isEjected
      this.#balancer.update()
      return member.name
    }
    return {
      ejected: (at, reason) => {
        const name = set(at, true)
        observer?.ejected(name, reason)
      },
      restored: (at) => {
        const name = set(at, false)
        observer?.restored(name)
      },
    }
  }
}

/**
 * UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE, DATA_LOSS; other statuses are client errors.
 */
const GRPC_FAULTS: ReadonlySet<number> = new Set([2, 4, 13, 14, 15])

class Chosen implements Choice {
  readonly pool: RequestPool
  readonly endpoint: string
  readonly host: string
  readonly name: string
  readonly #member: Member
  readonly #cluster: FixedCluster
  readonly #exchange: Exchange | undefined
  #isDone = false

  constructor(member: Member, cluster: FixedCluster, exchange: Exchange | undefined) {
    this.pool = member.pool
    this.endpoint = member.name
    this.host = member.host
    this.name = member.authority
    this.#member = member
    this.#cluster = cluster
    this.#exchange = exchange
  }

  done(attempt: Attempt): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#cluster.over(this.#member, this.#exchange, attempt)
  }
}

/** Opens a pool for the HTTP version of the backend. */
export function openPool(
  dial: Dial,
  { isHttp2, pool }: ClusterPlan,
  deadlines: Deadlines,
  observer: ClusterObserver | undefined,
): RequestPool {
  if (isHttp2) return http2Pool(dial, pool, deadlines, observer)
  return new Pool(dial, pool, deadlines, observer)
}

/** Makes the pool follow the addresses of a name; returns a function that ends it. */
export function followName({ resolver }: ClusterDeps, host: string, pool: RequestPool): () => void {
  return resolver.follow(host, {
    isActive: () => pool.open > 0,
    follow: (addresses) => pool.follow(addresses),
  })
}

export function dialOptions(
  endpoint: FixedEndpoint,
  plan: ClusterPlan,
  { resolver }: ClusterDeps,
): DialOptions {
  const isSecure = 'scheme' in endpoint && endpoint.scheme === 'https'
  const tls = plan.tls ?? (isSecure ? PLAIN_TLS : undefined)
  return {
    timeout: plan.connectTimeout,
    keepalive: plan.keepalive,
    tls: tls && handshakeOf(tls, 'path' in endpoint ? 'localhost' : endpoint.host, plan.isHttp2),
    rejectsLocal: false,
    resolve: (name) => resolver.resolve(name),
  }
}

/** Unreadable keys fail this backend, not the whole configuration. */
function handshakeOf(tls: BackendTLS, host: string, isHttp2: boolean): DialOptions['tls'] {
  try {
    return handshakeWith(tls, host, [isHttp2 ? 'h2' : 'http/1.1'])
  } catch {
    return 'tls-material'
  }
}

function destinationOf(endpoint: FixedEndpoint, port?: number): Destination {
  if ('path' in endpoint) return { kind: 'unix', path: endpoint.path }
  return { kind: 'tcp', host: endpoint.host, port: port ?? endpoint.port }
}

/** The name for logs and metrics. */
export function endpointName(endpoint: FixedEndpoint): string {
  if ('path' in endpoint) return `unix:${endpoint.path}`
  return `${bracketed(endpoint.host)}:${endpoint.port}`
}

/** An endpoint configured as a URL gets its own name as Host; others get the client's Host. */
function hostOf(endpoint: FixedEndpoint): string {
  return 'path' in endpoint || endpoint.scheme === undefined ? '' : authorityOf(endpoint)
}

export function authorityOf({ host, port, scheme }: Endpoint): string {
  const isDefault = port === (scheme === 'https' ? 443 : 80)
  return isDefault ? bracketed(host) : `${bracketed(host)}:${port}`
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}
