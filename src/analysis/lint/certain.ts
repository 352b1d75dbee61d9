import type { Model } from '../../model/model.ts'
import type { AuthorizationRule } from '../../policies/schema.ts'
import { type RuleReader, ruleReader } from '../placed-rule.ts'
import { impossibleTexts } from './checks/impossible.ts'
import { AUTHENTICATIONS, unsetAttributes } from './checks/never.ts'
import { addressTexts } from './checks/wording.ts'
import type { Finding } from './finding.ts'
import { surveyStepwise } from './survey.ts'

const CERTAIN = [unsetAttributes, addressTexts, impossibleTexts]

/**
 * Rules that can never match for a reason that is found at little cost, wherever they hold: a
 * variable that nothing sets, an address compared with text, a method in lower case. A gateway
 * that starts can wait for these; what takes a search is for `lint`.
 */
export function* certainErrors(model: Model): Generator<void, readonly Finding[]> {
  const matching = new Set<AuthorizationRule>()
  const surveyed = yield* surveyStepwise(model, suspects(ruleReader(), matching))
  const rules = surveyed.rules.filter(({ placed }) => !matching.has(placed.rule))
  return CERTAIN.flatMap((check) => [...check({ ...surveyed, rules }, {})]).filter(
    ({ diagnostic }) => diagnostic.severity === 'error',
  )
}

/** Only rules that one of the checks may be about are compiled; the others are told apart by text. */
function suspects(read: RuleReader, matching: Set<AuthorizationRule>): RuleReader {
  return (policy, stage, names) => {
    const isSuspect = (rule: AuthorizationRule) => isUnset(rule, names) || isOdd(rule)
    const { rules } = policy.value
    for (const rule of rules) if (!isSuspect(rule)) matching.add(rule)
    if (!rules.some(isSuspect)) return NO_RULES
    return read(policy, stage, names).filter(({ rule }) => isSuspect(rule))
  }
}

const NO_RULES: ReturnType<RuleReader> = []

function isUnset({ expression }: AuthorizationRule, names: ReadonlyMap<string, string>): boolean {
  if (expression.includes('hostname')) return true
  return Object.keys(AUTHENTICATIONS).some(
    (variable) => expression.includes(variable) && names.get(variable)?.endsWith('#none') === true,
  )
}

const LITERALS = /'[^']*'|"[^"]*"/g

/** Whether it has a literal that may be wrong wherever it is compared. */
function isOdd({ expression }: AuthorizationRule): boolean {
  const has = (part: string) => expression.includes(part)
  if (has('.address')) return has('string')
  const [method, host, path] = [has('.method'), has('.host'), has('.path')]
  if (!method && !host && !path) return false
  const literals = (expression.match(LITERALS) ?? []).map((text) => text.slice(1, -1))
  return literals.some(
    (text) =>
      (method && /[a-z]/.test(text)) ||
      (host && /[A-Z*:]/.test(text)) ||
      (path && (!text.startsWith('/') || /[?#]|\/\./.test(text))),
  )
}
