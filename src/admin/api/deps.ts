import type { ValidPolicy } from '../../model/policy.ts'
import type { Configuration } from '../../sources/database/configuration.ts'
import type { DecisionRecord } from '../../telemetry/decision-record.ts'
import type { DecisionQuery } from '../../telemetry/decision-ring.ts'
import type { MetricView } from '../../telemetry/exposition.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { UsageRow } from '../../telemetry/usage-history.ts'
import type { Status } from '../responses.ts'

export type FindDecisions = (query: DecisionQuery) => Promise<readonly DecisionRecord[]>

/** What the API tells of, and acts on. */
export interface ApiDeps {
  readonly version: string
  readonly status: () => Status
  readonly find: FindDecisions
  readonly readMetrics: () => Promise<Iterable<MetricView>>
  /** What calls to models used since a time, by steps, both in milliseconds. */
  readonly usageOf: (search: { readonly since: number; readonly step: number }) => Promise<{
    readonly from: 'database' | 'memory'
    readonly points: readonly UsageRow[]
  }>
  /** What was used of each budget of a policy; undefined: that is not known now. */
  readonly budgetUse: (policy: ValidPolicy) => Promise<readonly UsedBudget[] | undefined>
  readonly configuration: Configuration
  readonly runTool: RunTool
  readonly log: Pick<Logger, 'level' | 'setLevel' | 'audit'>
  /** Texts that are shown to nobody. */
  readonly secrets: readonly string[]
}

/** In the units that the budget is written in. */
export interface UsedBudget {
  /** Values of its key for which anything was used. */
  readonly callers: number
  readonly used: number
  readonly maxUsed: number
  /** When the period ends, RFC 3339. */
  readonly ends: string
}

/** A command of `portcullis`, run apart so that neither requests nor the gateway depend on it. */
export type RunTool = (
  command: 'diff' | 'effective' | 'explain' | 'lint' | 'replay' | 'suggest' | 'test',
  /** `FILES/name` stands for the path of a file of that name. */
  args: readonly string[],
  /** Name → text. */
  files: Readonly<Record<string, string>>,
) => Promise<ToolResult | 'busy'>

export interface ToolResult {
  readonly code: number
  readonly out: string
  readonly err: string
}
