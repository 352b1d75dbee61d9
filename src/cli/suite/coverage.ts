import { ruleIdentity } from '../../analysis/decisions/summary.ts'
import { originOfRule } from '../../analysis/lint/finding.ts'
import { pointsOf } from '../../analysis/points.ts'
import { locate, type Places } from '../../diagnostics/places.ts'
import { renderOrigin } from '../../diagnostics/render.ts'
import type { Model } from '../../model/model.ts'
import type { DecisionRecord } from '../../telemetry/decision-record.ts'

/** A rule, and the number of its decisions. */
export interface Covered {
  readonly policy: string
  readonly action: string
  readonly expression: string
  readonly at: string
  readonly decided: number
}

/**
 * Counts the decisions of each rule: a Deny that matched, a Require that denied, an Allow that
 * admitted. A rule without any could be removed without a failing case.
 */
export function coverageOf(
  model: Model,
  places: Places,
  records: readonly DecisionRecord[],
): readonly Covered[] {
  const counts = new Map<string, number>()
  for (const { rule, audited } of records) {
    for (const one of new Set([rule, audited?.rule])) {
      if (one === undefined) continue
      const key = ruleIdentity(one)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  const covered = new Map<string, Covered>()
  for (const { rules } of pointsOf(model)) {
    for (const placed of rules) {
      const { rule, policy } = placed
      const key = ruleIdentity({ ...rule, policy: policy.policy })
      if (covered.has(key)) continue
      covered.set(key, {
        policy: policy.policy,
        action: rule.action,
        expression: rule.expression,
        at: renderOrigin(locate(places, originOfRule(placed))),
        decided: counts.get(key) ?? 0,
      })
    }
  }
  return [...covered.values()]
}
