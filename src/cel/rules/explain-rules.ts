import type { Variables } from '../emit/functions.ts'
import type { Explanation } from '../explain/explanation.ts'
import { type Miss, nearestMiss } from '../explain/miss.ts'
import type { Allowance } from '../values/ledger.ts'
import { type Action, compileRules, type Rule, type RuleSet } from './rule-set.ts'

/** One rule, what each of its parts came to, and what would have to differ for it to match. */
export interface RuleExplanation {
  /** The rule's place in the set. */
  readonly rule: number
  readonly action: Action
  readonly explanation: Explanation
  readonly isTrue: boolean
  readonly misses: readonly Miss[]
}

export interface Verdict {
  readonly allowed: boolean
  /** The rule that decided; absent where no Allow matched, or where nothing stood against it. */
  readonly deciding: RuleExplanation | undefined
  readonly cause: 'matched' | 'false' | 'error' | 'unset' | 'no-allow-match' | 'no-rules'
  /** Where no Allow matched: the Allow rule that came nearest. */
  readonly nearest: RuleExplanation | undefined
  /** In order of evaluation: Deny, Require, Allow. */
  readonly rules: readonly RuleExplanation[]
}

const ORDER = { Deny: 0, Require: 1, Allow: 2 } as const

/**
 * The same decision as RuleSet.decide, told in full. Every rule is evaluated; which of several that
 * decide alike is named, the set says, so that records, metrics and explanations name the same.
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
  return { ...verdict(false, undefined, 'no-allow-match', all), nearest: nearest(allows) }
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
  return { rule, action, explanation, isTrue, misses: nearestMiss(explanation) }
}

/** A Deny rule that the request made too costly denies; see ./rule-set.ts. */
export function isOverBound({ explanation: { cause } }: RuleExplanation): boolean {
  return cause?.kind === 'error' && cause.isOverBound === true
}

/** The explanation ended before it came to anything. */
export function isCut({ explanation: { cause } }: RuleExplanation): boolean {
  return cause?.kind === 'error' && cause.isCut === true
}

/** Why a rule did not match. */
export function causeOf({ explanation }: RuleExplanation): 'false' | 'error' | 'unset' {
  if (explanation.value !== undefined) return 'false'
  return explanation.cause?.kind === 'error' ? 'error' : 'unset'
}

/** The fewest misses; of equals the first. */
function nearest(rules: readonly RuleExplanation[]): RuleExplanation | undefined {
  return rules.reduce<RuleExplanation | undefined>(
    (best, rule) => (best === undefined || rule.misses.length < best.misses.length ? rule : best),
    undefined,
  )
}
