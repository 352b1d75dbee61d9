import type { DecisionSummary } from '../decisions/summary.ts'
import type { Finding } from './finding.ts'
import type { Survey } from './survey.ts'

/** What is known beside the Model. */
export interface LintOptions {
  /** How a gateway is reached, by its name, where a cluster or the operator says so. */
  readonly exposures?: ReadonlyMap<string, Exposure>
  /** What recorded decisions say; without it what needs live traffic is left out. */
  readonly decisions?: DecisionSummary
}

/** The Service in front of a gateway. */
export interface Exposure {
  readonly type: string
  readonly externalTrafficPolicy: string
}

/** One kind of mistake, or a few that are found in the same way. */
export type Check = (survey: Survey, options: LintOptions) => Iterable<Finding>
