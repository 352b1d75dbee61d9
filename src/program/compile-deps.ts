import type { DecisionSampler } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { MessageStreams } from '../exchange/message-streams.ts'
import type { Outcome } from '../exchange/step.ts'
import type { Backend } from '../model/backend.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { PolicyDeps } from '../policies/define.ts'
import type { Cluster } from '../upstream/cluster.ts'
import type { ModelPrices } from './model-prices.ts'

/** What a Program is given of the world. */
export interface CompileDeps {
  /** Endpoints of a backend with the policies that hold for it: TLS, balancing, health, limits. */
  openCluster(
    backend: Backend,
    policies: readonly ValidPolicy[],
    expressions: ClusterExpressions,
  ): Cluster
  /** Who is told what a policy says of each request, where anybody is: asked once for each. */
  watchStep?(policy: ValidPolicy): ((outcome: Outcome) => void) | undefined
  /** Who is told of decisions; nobody, where it is left out. */
  readonly sampler?: DecisionSampler
  /** Monotonic milliseconds. */
  now(): number
  /** From 0 to less than 1. */
  random(): number
  /** How the process tells of requests; without a word, with nothing added and nothing hidden. */
  readonly telemetry?: TelemetryOptions
  /** What calls to models cost; without it, nobody knows. */
  readonly prices?: ModelPrices
  /** 32 bytes that seal what clients carry, such as ids of MCP sessions; by default, random ones. */
  readonly sealKey?: Uint8Array
  /** Streams of clients whose requests may come to other workers; by default, there are no others. */
  readonly streams?: MessageStreams
  /** Milliseconds that an unused session of MCP is kept; by default half an hour. */
  readonly mcpSessionTtl?: number
  /** Of policies that look outside; without a word, the real one. */
  readonly policyDeps?: PolicyDeps
}

/** What settings of the process say of logs, traces and metrics. */
export interface TelemetryOptions {
  /** Labels of metrics by expression. */
  readonly labels: Readonly<Record<string, string>>
  /** Headers whose values are never written, in lower case. */
  readonly hiddenHeaders: readonly string[]
}

/** Expressions of a cluster, compiled; undefined for what a request has no value for. */
export interface ClusterExpressions {
  /** Of a dynamic backend: `host:port` or a URL. */
  readonly target: ((exchange: Exchange) => string | undefined) | undefined
  /** Of ConsistentHash. */
  readonly hashKey: ((exchange: Exchange) => string | undefined) | undefined
  /** Of outlier detection, asked when a response is over: whether its endpoint failed. */
  readonly isFailure: ((exchange: Exchange) => boolean) | undefined
}
