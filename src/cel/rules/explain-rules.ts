import type { Variables } from '../emit/functions.ts'
import type { Explanation } from '../explain/explanation.ts'
import { type Nearness, nearer, nearness } from '../explain/miss.ts'
import type { Allowance } from '../values/ledger.ts'
import { type Action, compileRules, type Rule, type RuleSet } from './rule-set.ts'

/** One rule, the result of each of its parts, and what would have to change for it to match. */
export interface RuleExplanation extends Nearness {
  /** The index of the rule in the set. */
  readonly rule: number
  readonly action: Action
  readonly explanation: Explanation
  readonly isTrue: boolean
}

export interface Verdict {
  readonly allowed: boolean
  /**
   * The rule that decided; absent if no Allow rule matched, or if there are no Allow rules and
   * nothing denied the request.
   */
  readonly deciding: RuleExplanation | undefined
  readonly cause: 'matched' | 'false' | 'error' | 'unset' | 'no-allow-match' | 'no-rules'
  /** If no Allow rule matched, the one that came closest to matching. */
  readonly nearest: RuleExplanation | undefined
  /** In order of evaluation: Deny, Require, Allow. */
  readonly rules: readonly RuleExplanation[]
}

const ORDER = { Deny: 0, Require: 1, Allow: 2 } as const

/**
 * Makes the same decision as RuleSet.decide, with full explanations. Every rule is evaluated; if
 * several rules decide alike, the set determines which one is named, so that records, metrics and
 * explanations name the same rule.
 */
export function explainRules(
  rules: readonly Rule[],
  variables: Variables,
  set: RuleSet = compileRules(rules),
): Verdict {
  const named = set.deciding(variables).rule
  const first = (own: readonly RuleExplanation[]) =>
    own.find(({ rule }) => rule === named) ?? own[0]
  const all = rules
    .map((rule, i) => explainRule(rule, i, variables))
    .sort((a, b) => ORDER[a.action] - ORDER[b.action] || a.rule - b.rule)
  const of = (action: Action) => all.filter((rule) => rule.action === action)
  const denied = first(of('Deny').filter((rule) => rule.isTrue || isOverBound(rule)))
  if (denied !== undefined) return verdict(false, denied, denied.isTrue ? 'matched' : 'error', all)
  const unmet = first(of('Require').filter((rule) => !rule.isTrue))
  if (unmet !== undefined) return verdict(false, unmet, causeOf(unmet), all)
  const allows = of('Allow')
  if (allows.length === 0) return verdict(true, undefined, 'no-rules', all)
  const allowed = first(allows.filter((rule) => rule.isTrue))
  if (allowed !== undefined) return verdict(true, allowed, 'matched', all)
  return { ...verdict(false, undefined, 'no-allow-match', all), nearest: allows.reduce(nearer) }
}

function verdict(
  allowed: boolean,
  deciding: RuleExplanation | undefined,
  cause: Verdict['cause'],
  rules: readonly RuleExplanation[],
): Verdict {
  return { allowed, deciding, cause, nearest: undefined, rules }
}

export function explainRule(
  { action, expression }: Rule,
  rule: number,
  variables: Variables,
  effort?: Allowance,
): RuleExplanation {
  const explanation = expression.explain(variables, effort)
  const isTrue = explanation.value === true
  return { rule, action, explanation, isTrue, ...nearness(explanation) }
}

/** Whether the request made the rule too costly; such a Deny rule denies, see ./rule-set.ts. */
export function isOverBound({ explanation: { cause } }: RuleExplanation): boolean {
  return cause?.kind === 'error' && cause.isOverBound === true
}

/** Whether the explanation ended before it had a result. */
export function isCut({ explanation: { cause } }: RuleExplanation): boolean {
  return cause?.kind === 'error' && cause.isCut === true
}

/** Why a rule did not match. */
export function causeOf({ explanation }: RuleExplanation): 'false' | 'error' | 'unset' {
  if (explanation.value !== undefined) return 'false'
  return explanation.cause?.kind === 'error' ? 'error' : 'unset'
}
