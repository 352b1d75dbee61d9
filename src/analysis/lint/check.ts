import type { DecisionSummary } from '../decisions/summary.ts'
import type { Finding } from './finding.ts'
import type { Survey } from './survey.ts'

/** What is known in addition to the Model. */
export interface LintOptions {
  /** How each gateway is exposed, by name, if a cluster or the operator provides it. */
  readonly exposures?: ReadonlyMap<string, Exposure>
  /** Statistics of recorded decisions; without them, checks that need live traffic are skipped. */
  readonly decisions?: DecisionSummary
}

/** The Service in front of a gateway. */
export interface Exposure {
  readonly type: string
  readonly externalTrafficPolicy: string
}

/** One kind of mistake, or several that are found in the same way. */
export type Check = (survey: Survey, options: LintOptions) => Iterable<Finding>
