import type { Model } from '../../model/model.ts'
import type { AuthorizationRule } from '../../policies/schema.ts'
import { type RuleReader, ruleReader } from '../placed-rule.ts'
import { impossibleTexts } from './checks/impossible.ts'
import { unsetAttributes } from './checks/never.ts'
import { addressTexts } from './checks/wording.ts'
import type { Finding } from './finding.ts'
import { surveyCooperatively } from './survey.ts'
import { isSuspect, suspectsOf } from './suspect-rules.ts'

const CERTAIN = [unsetAttributes, addressTexts, impossibleTexts]

/**
 * Rules that can never match for a reason that is found at little cost, wherever they hold: a
 * variable that nothing sets, an address compared with text, a method in lower case. A gateway
 * that starts can wait for these; what takes a search is for `lint`. `before`: a Model that was
 * looked at already; where little changed since, little is looked at.
 */
export function* certainErrors(model: Model, before?: Model): Generator<void, readonly Finding[]> {
  const suspects = yield* suspectsOf(model, before)
  return suspects === undefined ? [] : yield* errorsAmong(suspects.model, suspects.cleared)
}

/** The same by the points that rules reach; `cleared`: rules that are known to hold somewhere. */
export function* errorsAmong(
  model: Model,
  cleared: Iterable<AuthorizationRule> = [],
): Generator<void, readonly Finding[]> {
  const matching = new Set(cleared)
  const surveyed = yield* surveyCooperatively(model, suspectReader(ruleReader(), matching))
  const rules = surveyed.rules.filter(({ placed }) => !matching.has(placed.rule))
  return CERTAIN.flatMap((check) => [...check({ ...surveyed, rules }, {})]).filter(
    ({ diagnostic }) => diagnostic.severity === 'error',
  )
}

/** Only rules that one of the checks may be about are compiled; the others are told apart by text. */
function suspectReader(read: RuleReader, matching: Set<AuthorizationRule>): RuleReader {
  return (policy, stage, names) => {
    const isUnset = (variable: string) => names.get(variable)?.endsWith('#none') === true
    const isDoubted = (rule: AuthorizationRule) => isSuspect(rule, isUnset)
    const { rules } = policy.value
    for (const rule of rules) if (!isDoubted(rule)) matching.add(rule)
    if (!rules.some(isDoubted)) return NO_RULES
    return read(policy, stage, names).filter(({ rule }) => isDoubted(rule))
  }
}

const NO_RULES: ReturnType<RuleReader> = []
