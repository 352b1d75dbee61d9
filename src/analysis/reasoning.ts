import { type Action, STAGES } from '../cel/index.ts'
import type { RuleStage } from '../reach/points.ts'
import type { PlacedRule } from './placed-rule.ts'
import type { Facts } from './symbolic/attribute-tree.ts'
import { all, any, type Formula } from './symbolic/formula.ts'
import type { Attribute } from './symbolic/leaves.ts'
import { NOT_TRUE, TRUE } from './symbolic/outcome.ts'
import { type Solution, solve } from './symbolic/solve.ts'
import { type Condition, type Mode, Space } from './symbolic/space.ts'

/** The rules of one point, and what is known about its requests. */
export interface Point {
  readonly stage: RuleStage
  readonly rules: readonly PlacedRule[]
  readonly facts: Facts
}

/** Proves statements about all requests that can reach one point, or leaves them unproven. */
export class Reasoning {
  readonly space: Space
  readonly #formulas = new Map<Condition, Map<number, Formula>>()
  readonly #rules: readonly PlacedRule[]
  /** Derived once: every rule of the point may be compared with it. */
  #admitted: Formula | undefined

  constructor(
    { stage, rules, facts }: Point,
    mode: Mode = 'proof',
    more: readonly Condition[] = [],
  ) {
    this.space = new Space(STAGES[stage], facts, mode)
    this.#rules = rules
    const conditions = new Set([...rules.map(({ condition }) => condition), ...more])
    for (const condition of conditions) this.space.learn(condition)
  }

  matches({ condition }: Pick<PlacedRule, 'condition'>): Formula {
    return this.#formula(condition, TRUE)
  }

  missed({ condition }: Pick<PlacedRule, 'condition'>): Formula {
    return this.#formula(condition, NOT_TRUE)
  }

  isThere(attribute: Attribute, { condition }: Pick<PlacedRule, 'condition'>): Formula {
    return this.space.isThere(attribute, condition)
  }

  /** Evaluates Deny, then Require, then Allow, over all rules or some of them. */
  admitted(rules = this.#rules): Formula {
    if (rules !== this.#rules) return this.#admittedBy(rules)
    this.#admitted ??= this.#admittedBy(rules)
    return this.#admitted
  }

  #admittedBy(rules: readonly PlacedRule[]): Formula {
    const of = byAction(rules)
    const allows = of('Allow').map((rule) => this.#does(rule))
    return all([
      ...of('Deny').map((rule) => this.#doesNot(rule)),
      ...of('Require').map((rule) => this.#does(rule)),
      ...(allows.length === 0 ? [] : [any(allows)]),
    ])
  }

  denied(rules = this.#rules): Formula {
    const of = byAction(rules)
    const allows = of('Allow')
    const ways = [
      ...of('Deny').map((rule) => this.#does(rule)),
      ...of('Require').map((rule) => this.#doesNot(rule)),
    ]
    if (allows.length > 0) ways.push(all(allows.map((rule) => this.#doesNot(rule))))
    return any(ways)
  }

  /** The condition is true or, for a Deny rule, cannot be evaluated completely. */
  #does({ condition, rule }: PlacedRule): Formula {
    return this.space.matches(condition, rule.action)
  }

  #doesNot({ condition, rule }: PlacedRule): Formula {
    return this.space.misses(condition, rule.action)
  }

  solve(...formulas: readonly Formula[]): Solution {
    return solve([...formulas, ...this.space.axioms])
  }

  /** Whether it is proven that no request satisfies all of these formulas. */
  isImpossible(...formulas: readonly Formula[]): boolean {
    return this.solve(...formulas).kind === 'impossible'
  }

  #formula(condition: Condition, outcomes: number): Formula {
    let known = this.#formulas.get(condition)
    if (known === undefined) this.#formulas.set(condition, (known = new Map()))
    const found = known.get(outcomes) ?? this.space.formula(condition, outcomes)
    known.set(outcomes, found)
    return found
  }
}

/** Rules in audit mode decide nothing. */
function byAction(rules: readonly PlacedRule[]) {
  const enforced = rules.filter(({ isEnforced }) => isEnforced)
  return (action: Action) => enforced.filter(({ rule }) => rule.action === action)
}
