import type { Configuration } from '../../sources/database/configuration.ts'
import type { DecisionRecord } from '../../telemetry/decision-record.ts'
import type { DecisionQuery } from '../../telemetry/decision-ring.ts'
import type { MetricView } from '../../telemetry/exposition.ts'
import type { Logger } from '../../telemetry/log.ts'
import type { Status } from '../answers.ts'

export type FindDecisions = (query: DecisionQuery) => Promise<readonly DecisionRecord[]>

/** What the API tells of, and acts on. */
export interface ApiDeps {
  readonly version: string
  readonly status: () => Status
  readonly find: FindDecisions
  readonly readMetrics: () => Promise<Iterable<MetricView>>
  readonly configuration: Configuration
  readonly runTool: RunTool
  readonly log: Pick<Logger, 'level' | 'setLevel' | 'info'>
  /** Texts that are shown to nobody. */
  readonly secrets: readonly string[]
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
