import type { Term } from '../check/term.ts'
import type { Expression } from '../compile.ts'
import type { Predicate, Variables } from '../emit/generate.ts'
import { isMetered } from '../emit/metered.ts'
import { fuel } from '../values/fuel.ts'
import { alternatives, type Counts, compileAny, type Emit } from './any-set.ts'
import type { Matcher } from './lookups.ts'

export type Action = 'Deny' | 'Require' | 'Allow'

export interface Rule {
  readonly action: Action
  readonly expression: Expression
}

export interface RuleSetOptions {
  /** False: every rule is tested in turn; what the index is compared with. */
  readonly index?: boolean
}

/** Which rule decided; `rule` is -1 where no Allow matched, or where nothing stood against it. */
export interface Deciding {
  readonly allowed: boolean
  readonly action: Action | undefined
  readonly rule: number
}

/**
 * All rules that reach one point, as one decision: Deny, then Require, then Allow.
 * A rule matches only when it is definitely true: one that errors does not.
 */
export interface RuleSet {
  readonly rules: readonly Rule[]
  /** How many alternatives of Deny and Allow rules look-ups answer, and how many run in turn. */
  readonly counts: Readonly<Counts>
  decide(variables: Variables): boolean
  deciding(variables: Variables): Deciding
}

export function compileRules(rules: readonly Rule[], options: RuleSetOptions = {}): RuleSet {
  const counts: Counts = { indexed: 0, linear: 0 }
  const indexed = options.index !== false
  const denies = matcher(rules, 'Deny', indexed, counts)
  const allows = matcher(rules, 'Allow', indexed, counts)
  const requires = requirements(rules)
  for (const { expression } of rules) expression.release()
  return {
    rules,
    counts,
    decide(variables) {
      if (denies !== undefined && denies.match(variables) >= 0) return false
      for (let i = 0; i < requires.length; i++) {
        if (!(requires[i] as Requirement).test(variables)) return false
      }
      return allows === undefined || allows.match(variables) >= 0
    },
    deciding(variables) {
      const denied = denies === undefined ? -1 : denies.match(variables)
      if (denied >= 0) return { allowed: false, action: 'Deny', rule: denied }
      const missing = requires.find((requirement) => !requirement.test(variables))
      if (missing !== undefined) return { allowed: false, action: 'Require', rule: missing.rule }
      if (allows === undefined) return { allowed: true, action: undefined, rule: -1 }
      const allowed = allows.match(variables)
      return { allowed: allowed >= 0, action: 'Allow', rule: allowed }
    },
  }
}

interface Requirement {
  readonly rule: number
  readonly test: Predicate
}

/** Every requirement must be true, so there is nothing to look up; equal ones are tested once. */
function requirements(rules: readonly Rule[]): readonly Requirement[] {
  const seen = new Map<string, Requirement>()
  for (const [rule, { action, expression }] of rules.entries()) {
    if (action !== 'Require' || seen.has(expression.text)) continue
    seen.set(expression.text, { rule, test: expression.predicate() })
  }
  return [...seen.values()]
}

/** undefined where there is no rule of this action. */
function matcher(
  rules: readonly Rule[],
  action: Action,
  indexed: boolean,
  counts: Counts,
): Matcher | undefined {
  const own = [...rules.entries()].filter(([, rule]) => rule.action === action)
  if (own.length === 0) return undefined
  const emit = emitter(rules, action)
  if (indexed)
    return compileAny(
      own.flatMap(([i, rule]) => alternatives(i, rule.expression.term)),
      emit,
      counts,
    )
  counts.linear += own.length
  const tests = own.map(([i, { expression }]) => ({
    rule: i,
    test: emit.predicate(expression.term, i),
  }))
  return { match: (variables) => tests.find(({ test }) => test(variables))?.rule ?? -1 }
}

function emitter(rules: readonly Rule[], action: Action): Emit {
  const owner = (rule: number) => (rules[rule] as Rule).expression
  const first = (rules[0] as Rule).expression
  return {
    read: (term) => first.evaluatePart(term),
    predicate(term: Term, rule: number) {
      const test = owner(rule).predicatePart(term)
      if (action !== 'Deny' || !isMetered(term)) return test
      // A Deny rule that a request can make too costly must not become a way around it.
      return (variables) => test(variables) || fuel.left < 0
    },
  }
}
