import type { Read } from '../cel/check/reads.ts'
import { BOOL } from '../cel/check/types.ts'
import { compile, type Expression, STAGES } from '../cel/index.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Authorization, AuthorizationRule } from '../policies/schema.ts'
import type { RuleStage } from '../reach/points.ts'
import type { Condition } from './symbolic/space.ts'

/** A condition at the place where it applies. */
export interface PlacedCondition {
  /** The variables for the client identity are named after the authentication that sets them. */
  readonly condition: Condition
  /** The attributes that the expression reads. */
  readonly reads: readonly Read[]
}

/** Undefined if it does not compile, or if its result may change between evaluations. */
export function placedCondition(
  text: string,
  stage: RuleStage,
  names: ReadonlyMap<string, string>,
): PlacedCondition | undefined {
  const { expression } = compile(text, STAGES[stage], { expect: BOOL, pure: true })
  if (expression === undefined) return undefined
  return { condition: { text, term: expression.term, names }, reads: expression.reads }
}

/** A rule at the place where it applies. */
export interface PlacedRule extends PlacedCondition {
  readonly stage: RuleStage
  readonly policy: ValidPolicy<Authorization>
  readonly rule: AuthorizationRule
  /** Index in its block, from 0. */
  readonly index: number
  readonly expression: Expression
  readonly isEnforced: boolean
}

/** Reads the rules of one policy, except those that do not compile (reported elsewhere). */
export type RuleReader = (
  policy: ValidPolicy<Authorization>,
  stage: RuleStage,
  names: ReadonlyMap<string, string>,
) => readonly PlacedRule[]

/**
 * Compiles each text once per stage, however many places it applies to. Returns the same objects
 * for the rules of a policy at all places that see the same identity.
 */
export function ruleReader(): RuleReader {
  const compiled = new Map<string, Expression | undefined>()
  const known = new Map<ValidPolicy, Map<string, readonly PlacedRule[]>>()
  const compileOnce = (text: string, stage: RuleStage) => {
    const key = `${stage} ${text}`
    if (!compiled.has(key)) {
      compiled.set(key, compile(text, STAGES[stage], { expect: BOOL, pure: true }).expression)
    }
    return compiled.get(key)
  }
  return (policy, stage, names) => {
    let own = known.get(policy)
    if (own === undefined) known.set(policy, (own = new Map()))
    const key = `${stage} ${[...names.values()].join(' ')}`
    const found = own.get(key)
    if (found !== undefined) return found
    const isEnforced = policy.value.mode === 'Enforce'
    const made = policy.value.rules.flatMap((rule, index): PlacedRule[] => {
      const expression = compileOnce(rule.expression, stage)
      if (expression === undefined) return []
      const condition = { text: rule.expression, term: expression.term, names }
      const { reads } = expression
      return [{ stage, policy, rule, index, isEnforced, expression, condition, reads }]
    })
    own.set(key, made)
    return made
  }
}
