import type { Attached, Level } from '../model/policy.ts'
import type { KeepaliveSettings, UpstreamSettings } from '../model/settings.ts'
import { HEAD_LIMITS } from '../wire/http1/message.ts'
import type { BackendTLS } from './backend-tls.ts'
import type { Algorithm } from './balance.ts'
import type { HealthCheck } from './health.ts'
import type { Eviction } from './outlier.ts'
import type { PoolOptions } from './pool.ts'
import { ONLY_WORKER, shareOf, type WorkerPlace } from './worker-share.ts'

/** What policies and settings define for the connections to one backend. */
export interface ClusterPlan {
  readonly tls: BackendTLS | undefined
  /** The backend speaks HTTP/2, also without TLS. */
  readonly isHttp2: boolean
  readonly algorithm: Algorithm
  readonly healthCheck: HealthCheck | undefined
  readonly eviction: Eviction | undefined
  readonly pool: PoolOptions
  readonly connectTimeout: number
  readonly keepalive: KeepaliveSettings
}

/** The policies that configure connections. Their shapes match their schemas. */
interface Values {
  readonly backendTLS: BackendTLS
  readonly loadBalancer: { readonly algorithm: Algorithm }
  readonly healthCheck: HealthCheck
  readonly outlierDetection: { readonly eviction?: Eviction | undefined }
  readonly connectionLimits: ConnectionLimits
  readonly http: Http
  readonly tcp: Tcp
}

interface ConnectionLimits {
  readonly maxConnections?: number | undefined
  readonly maxPendingRequests: number
  readonly maxRequestsPerConnection?: number | undefined
  readonly idleTimeout?: number | undefined
  readonly maxAge?: number | undefined
}

interface Http {
  readonly version?: '1.1' | '2' | undefined
  readonly maxResponseHeadSize: number
  readonly maxResponseHeaders: number
}

interface Tcp {
  readonly connectTimeout?: number | undefined
  readonly keepalives?: KeepaliveSettings | undefined
}

const KINDS: ReadonlySet<string> = new Set<keyof Values>([
  'backendTLS',
  'loadBalancer',
  'healthCheck',
  'outlierDetection',
  'connectionLimits',
  'http',
  'tcp',
])

/** The policies that a cluster is built from; the others run per request and do not affect it. */
function clusterPolicies(policies: readonly Attached[]): readonly Attached[] {
  return policies.filter(({ kind, section }) => section === 'backend' && KINDS.has(kind))
}

export const DEFAULT_EVICTION: Eviction = {
  duration: 3_000,
  consecutiveFailures: 5,
  restoreHealth: 1,
  maxEvicted: 0.5,
}

/** Returns `invalid-policy` if a policy is invalid: the backend must not be used without it. */
export function planOf(
  policies: readonly Attached[],
  settings: UpstreamSettings,
  worker: WorkerPlace = ONLY_WORKER,
): ClusterPlan | 'invalid-policy' {
  const own = clusterPolicies(policies)
  if (own.some(({ state }) => state === 'invalid')) return 'invalid-policy'
  const limits = policyOf(own, 'connectionLimits')
  const http = policyOf(own, 'http')
  const tcp = policyOf(own, 'tcp')
  const outlier = policyOf(own, 'outlierDetection')
  const connections = limits?.maxConnections ?? settings.maxConnections ?? Number.POSITIVE_INFINITY
  const connectTimeout = tcp?.connectTimeout ?? settings.connectTimeout
  return {
    tls: policyOf(own, 'backendTLS'),
    isHttp2: http?.version === '2',
    algorithm: policyOf(own, 'loadBalancer')?.algorithm ?? 'LeastRequest',
    healthCheck: policyOf(own, 'healthCheck'),
    eviction: outlier === undefined ? undefined : (outlier.eviction ?? DEFAULT_EVICTION),
    connectTimeout,
    keepalive: tcp?.keepalives ?? settings.keepalive,
    pool: {
      connectTimeout,
      idleTimeout: limits?.idleTimeout ?? settings.idleTimeout,
      // Without any connection, a worker could not serve requests.
      max: Math.max(1, shareOf(connections, worker)),
      maxAge: limits?.maxAge ?? settings.maxAge,
      maxPending: limits === undefined ? 1_024 : shareOf(limits.maxPendingRequests, worker),
      maxRequestsPerConnection: limits?.maxRequestsPerConnection ?? Number.POSITIVE_INFINITY,
      head: {
        ...HEAD_LIMITS,
        head: http?.maxResponseHeadSize ?? HEAD_LIMITS.head,
        fields: http?.maxResponseHeaders ?? HEAD_LIMITS.fields,
      },
    },
  }
}

const LEVELS: readonly Level[] = ['provider', 'backend', 'route', 'listener', 'gateway', 'frontend']

/** The most specific level wins; within a level, the first policy. */
function policyOf<K extends keyof Values>(
  policies: readonly Attached[],
  kind: K,
): Values[K] | undefined {
  const candidates = policies.filter((policy) => policy.kind === kind)
  const [winner] = candidates.toSorted((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level))
  return winner?.state === 'valid' ? (winner.value as Values[K]) : undefined
}
