import type { ValidPolicy } from '../../model/policy.ts'
import type { Configuration } from '../../sources/database/configuration.ts'
import type { DecisionRecord } from '../../telemetry/decision-record.ts'
import type { DecisionQuery } from '../../telemetry/decision-ring.ts'
import type { MetricView } from '../../telemetry/exposition.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { UsageRow } from '../../telemetry/usage-history.ts'
import type { Status } from '../responses.ts'

export type FindDecisions = (query: DecisionQuery) => Promise<readonly DecisionRecord[]>

/** The data that the API shows, and the operations that it can perform. */
export interface ApiDeps {
  readonly version: string
  readonly status: () => Status
  readonly find: FindDecisions
  readonly readMetrics: () => Promise<Iterable<MetricView>>
  /** The usage of model calls since a time, in steps; both in milliseconds. */
  readonly usageOf: (search: { readonly since: number; readonly step: number }) => Promise<{
    readonly from: 'database' | 'memory'
    readonly points: readonly UsageRow[]
  }>
  /** The usage of each budget of a policy; undefined if currently not known. */
  readonly budgetUse: (policy: ValidPolicy) => Promise<readonly UsedBudget[] | undefined>
  readonly configuration: Configuration
  readonly runTool: RunTool
  readonly log: Pick<Logger, 'level' | 'setLevel' | 'audit'>
  /** Strings that must never be shown. */
  readonly secrets: readonly string[]
}

/** In the units of the budget. */
export interface UsedBudget {
  /** The number of values of its key with any usage. */
  readonly callers: number
  readonly used: number
  readonly maxUsed: number
  /** The end of the period, in RFC 3339 format. */
  readonly ends: string
}

/** Runs a `portcullis` command in a separate process: requests and the gateway stay unaffected. */
export type RunTool = (
  command: 'diff' | 'effective' | 'explain' | 'lint' | 'replay' | 'suggest' | 'test',
  /** `FILES/name` is replaced with the path of the file with that name. */
  args: readonly string[],
  /** Name → text. */
  files: Readonly<Record<string, string>>,
) => Promise<ToolResult | 'busy'>

export interface ToolResult {
  readonly code: number
  readonly out: string
  readonly err: string
}
