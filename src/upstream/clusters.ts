import type { Exchange } from '../exchange/exchange.ts'
import type { Backend } from '../model/backend.ts'
import type { Attached } from '../model/policy.ts'
import type { UpstreamSettings } from '../model/settings.ts'
import type { Deadlines } from '../wire/deadlines.ts'
import type { Cluster } from './cluster.ts'
import { planOf } from './cluster-plan.ts'
import type { Resolver } from './dns.ts'
import { DynamicCluster } from './dynamic-cluster.ts'
import { FixedCluster } from './fixed-cluster.ts'
import type { CheckOutcome } from './health.ts'
import type { EjectionReason } from './outlier.ts'
import type { PoolObserver } from './pool.ts'
import type { WorkerPlace } from './worker-share.ts'

/** Dependencies that all clusters share. */
export interface ClusterDeps {
  readonly settings: UpstreamSettings
  /** For limits that are divided among workers. */
  readonly worker?: WorkerPlace
  readonly deadlines: Deadlines
  readonly resolver: Resolver
  /** Targets that come with requests may be loopback, link-local or cloud metadata addresses. */
  readonly allowLocalTargets?: boolean
  readonly observe?: (backend: string) => ClusterObserver
}

/** The compiled expressions of a backend and its policies. */
export interface ClusterExpressions {
  /** `loadBalancer.hashKey`; undefined: the request has no key. */
  readonly hashKey?: (exchange: Exchange) => string | undefined
  /** `outlierDetection.unhealthyExpression`, evaluated when the attempt is over. */
  readonly isFailure?: (exchange: Exchange) => boolean
  /** `dynamic.target`: `host:port` or a URL; undefined: the request has no target. */
  readonly target?: (exchange: Exchange) => string | undefined
}

export interface ClusterObserver extends PoolObserver {
  ejected(endpoint: string, reason: EjectionReason): void
  restored(endpoint: string): void
  checked(endpoint: string, outcome: CheckOutcome): void
  healthChanged(endpoint: string, isHealthy: boolean): void
}

/** Current counts, for gauges. */
export interface ClusterCounts {
  readonly open: number
  readonly idle: number
  /** Requests that wait for a connection. */
  readonly waiting: number
  readonly healthy: number
  readonly unhealthy: number
  readonly ejected: number
}

export interface OpenCluster extends Cluster {
  counts(): ClusterCounts
}

export function openCluster(
  backend: Backend,
  policies: readonly Attached[],
  clusterDeps: ClusterDeps,
  expressions: ClusterExpressions = {},
): OpenCluster {
  const { name } = backend
  const plan = planOf([...backend.policies, ...policies], clusterDeps.settings, clusterDeps.worker)
  if (plan === 'invalid-policy') return closedCluster(name, plan)
  switch (backend.kind) {
    case 'host': {
      const { endpoints } = backend
      return new FixedCluster({ name, endpoints, plan, expressions, clusterDeps })
    }
    case 'unix': {
      const endpoints = [{ path: backend.path }]
      return new FixedCluster({ name, endpoints, plan, expressions, clusterDeps })
    }
    case 'dynamic':
      return new DynamicCluster({ name, plan, expressions, clusterDeps })
    case 'invalid':
      return closedCluster(name, 'invalid-backend')
    default:
      return closedCluster(name, 'no-endpoint')
  }
}

const NO_COUNTS: ClusterCounts = {
  open: 0,
  idle: 0,
  waiting: 0,
  healthy: 0,
  unhealthy: 0,
  ejected: 0,
}

function closedCluster(name: string, word: string): OpenCluster {
  const state = { isHealthy: false, active: 0 }
  return { name, ...state, choose: () => word, close: () => {}, counts: () => NO_COUNTS }
}
