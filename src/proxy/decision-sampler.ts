import type { DecisionSampler, RulePlace, Tally } from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import {
  authorizationDecisions,
  authorizationRuleErrors,
} from '../telemetry/definitions/authorization.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { ReportError } from './internal-errors.ts'

type Variables = Parameters<DecisionSampler['broke']>[2]

/** Milliseconds of each second that searches may take, and how many may be saved up. */
const ALLOWANCE = 50
const MAX_SAVED = 100
/** Decisions between two checks for rules that fail while others decide. */
const EVERY = 16_384

/** Counts the decisions of rules, and limits what a burst of denials costs in addition. */
export class MeteredSampler implements DecisionSampler {
  readonly share: number
  readonly #metrics: Metrics
  readonly #now: () => number
  #saved = MAX_SAVED
  #savedAt: number
  #untilDue = EVERY

  readonly #report: ReportError

  constructor(
    metrics: Metrics,
    share: number,
    now: () => number = () => performance.now(),
    report: ReportError = () => {},
  ) {
    this.share = share
    this.#report = report
    this.#metrics = metrics
    this.#now = now
    this.#savedAt = now()
  }

  search<T>(work: () => T): T | undefined {
    const began = this.#now()
    const earned = ((began - this.#savedAt) * ALLOWANCE) / 1000
    this.#saved = Math.min(MAX_SAVED, this.#saved + earned)
    this.#savedAt = began
    if (this.#saved <= 0) return undefined
    const found = work()
    this.#saved -= this.#now() - began
    return found
  }

  shouldAudit(): boolean {
    if (--this.#untilDue > 0) return false
    this.#untilDue = EVERY
    return true
  }

  admitted(rule: RulePlace | undefined): Tally {
    const decisions = this.#metrics.counter(authorizationDecisions)
    if (rule === undefined) {
      return decisions.of({ policy: 'none', rule: 'none' }).at('allowed', 'none', 'none')
    }
    return decisions.of(labelsOf(rule)).at('allowed', rule.action, 'matched')
  }

  failed(rule: RulePlace, why: 'error' | 'unset' | 'not-boolean'): void {
    this.#metrics.counter(authorizationRuleErrors).of(labelsOf(rule)).at(rule.action, why).inc()
  }

  broke(rule: RulePlace | undefined, error: unknown, variables: Variables): void {
    const { request, connection } = variables as unknown as Partial<Exchange>
    this.#report('rule', error, { rule, requestId: request?.id, connection })
  }
}

/** The labels of a rule in metrics. */
export function labelsOf({ policy, kind, index }: RulePlace) {
  return { policy, rule: `${kind}[${index}]` }
}
