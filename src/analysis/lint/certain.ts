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
 * Rules that can never match for a reason that is cheap to find, wherever they apply: a variable
 * that nothing sets, an address compared with a string, a method in lowercase. A gateway can wait
 * for these checks at startup; checks that need a search are left to `lint`. `before` is a Model
 * that was already checked: if little has changed since, little is checked.
 */
export function* certainErrors(model: Model, before?: Model): Generator<void, readonly Finding[]> {
  const suspects = yield* suspectsOf(model, before)
  return suspects === undefined ? [] : yield* errorsAmong(suspects.model, suspects.cleared)
}

/** The same for the points that rules reach; `cleared` are rules known to match somewhere. */
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

/** Compiles only rules that one of the checks may concern; the text rules out the others. */
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
