import type { DecisionSampler } from '../exchange/decision.ts'
import type { EndedSessions } from '../exchange/ended-sessions.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { MessageStreams } from '../exchange/message-streams.ts'
import type { ProviderPauses } from '../exchange/provider-pauses.ts'
import type { Outcome } from '../exchange/step.ts'
import type { Backend } from '../model/backend.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { PolicyDeps } from '../policies/define.ts'
import type { Cluster } from '../upstream/cluster.ts'
import type { ModelPrices } from './model-prices.ts'

/** External dependencies of a Program. */
export interface CompileDeps {
  /** Endpoints of a backend with its effective policies: TLS, balancing, health, limits. */
  openCluster(
    backend: Backend,
    policies: readonly ValidPolicy[],
    expressions: ClusterExpressions,
  ): Cluster
  /**
   * Returns a callback for the outcome of a policy on each request, if there is one. Called once
   * for each policy.
   */
  watchStep?(policy: ValidPolicy): ((outcome: Outcome) => void) | undefined
  /** Records decisions. Optional. */
  readonly sampler?: DecisionSampler
  /** Monotonic milliseconds. */
  now(): number
  /** From 0 (inclusive) to 1 (exclusive). */
  random(): number
  /** How the process reports requests; by default, nothing is added and nothing is hidden. */
  readonly telemetry?: TelemetryOptions
  /** Prices of calls to models. Without it, prices are unknown. */
  readonly prices?: ModelPrices
  /** 32 bytes that seal values carried by clients, such as MCP session IDs; random by default. */
  readonly sealKey?: Uint8Array
  /** Streams of clients whose requests may reach other workers; by default, there are no others. */
  readonly streams?: MessageStreams
  /** Providers that asked for a pause; by default, no other process knows of them. */
  readonly pauses?: ProviderPauses
  /** MCP sessions that clients ended; by default, there are no other processes. */
  readonly endedSessions?: EndedSessions
  /** Milliseconds that an unused MCP session is kept; half an hour by default. */
  readonly mcpSessionTtl?: number
  /** For policies that access external resources; the real implementation by default. */
  readonly policyDeps?: PolicyDeps
}

/** Process settings for logs, traces and metrics. */
export interface TelemetryOptions {
  /** Labels of metrics and their expressions. */
  readonly labels: Readonly<Record<string, string>>
  /** Headers whose values are never written, in lower case. */
  readonly hiddenHeaders: readonly string[]
}

/** Compiled expressions of a cluster; they return undefined if a request has no value. */
export interface ClusterExpressions {
  /** For a dynamic backend: `host:port` or a URL. */
  readonly target: ((exchange: Exchange) => string | undefined) | undefined
  /** For ConsistentHash. */
  readonly hashKey: ((exchange: Exchange) => string | undefined) | undefined
  /** For outlier detection: whether the endpoint failed. Evaluated when a response is complete. */
  readonly isFailure: ((exchange: Exchange) => boolean) | undefined
}
