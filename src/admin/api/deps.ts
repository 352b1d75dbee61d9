import type { ValidPolicy } from '../../model/policy.ts'
import type { Change, ChangeFailure, Configuration } from '../../sources/database/configuration.ts'
import type { DecisionRecord } from '../../telemetry/decision-record.ts'
import type { DecisionQuery, FoundDecisions } from '../../telemetry/decision-ring.ts'
import type { MetricView } from '../../telemetry/exposition.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { UsageRow } from '../../telemetry/usage-history.ts'
import type { Status } from '../responses.ts'

export type FindDecisions = (query: DecisionQuery) => Promise<FoundDecisions>

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
  /** In the process of the gateway: requests wait for it, so that it works in small slices. */
  readonly explain: (query: ExplainQuery) => Promise<ExplainReply>
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

/** A request that was not sent, with the options of `portcullis explain`, or a recorded one. */
export type ExplainQuery =
  | {
      readonly changes: readonly Change[]
      readonly options: {
        readonly request: string
        readonly header: readonly string[]
        /** JSON objects. */
        readonly claims?: string | undefined
        readonly 'api-key'?: string | undefined
        readonly certificate?: string | undefined
        readonly user?: string | undefined
        readonly source?: string | undefined
        readonly sni?: string | undefined
        readonly identity?: string | undefined
        readonly listener?: string | undefined
        readonly backend?: string | undefined
        readonly provider?: string | undefined
      }
      readonly body?: string | undefined
    }
  | { readonly record: DecisionRecord }

/** `busy`: too many others wait. */
export type ExplainReply =
  | { readonly report: object }
  | { readonly failure: ChangeFailure }
  | { readonly status: number; readonly problem: string }
  | 'busy'

/** Runs a `portcullis` command in a separate process: requests and the gateway stay unaffected. */
export type RunTool = (
  command: 'diff' | 'effective' | 'lint' | 'replay' | 'suggest' | 'test',
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
