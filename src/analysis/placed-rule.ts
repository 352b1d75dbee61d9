import type { Read } from '../cel/check/reads.ts'
import { BOOL } from '../cel/check/types.ts'
import { compile, type Expression, STAGES } from '../cel/index.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Authorization, AuthorizationRule } from '../policies/schema.ts'
import type { RuleStage } from '../reach/points.ts'
import type { Condition } from './symbolic/space.ts'

/** A condition where it holds. */
export interface PlacedCondition {
  /** With the variables that say who asks named after the authentication that they come from. */
  readonly condition: Condition
  /** What the expression reads. */
  readonly reads: readonly Read[]
}

/** Undefined where it does not compile, or comes out otherwise from one time to the next. */
export function placedCondition(
  text: string,
  stage: RuleStage,
  names: ReadonlyMap<string, string>,
): PlacedCondition | undefined {
  const { expression } = compile(text, STAGES[stage], { expect: BOOL, pure: true })
  if (expression === undefined) return undefined
  return { condition: { text, term: expression.term, names }, reads: expression.reads }
}

/** A rule where it holds. */
export interface PlacedRule extends PlacedCondition {
  readonly stage: RuleStage
  readonly policy: ValidPolicy<Authorization>
  readonly rule: AuthorizationRule
  /** In its block, from 0. */
  readonly index: number
  readonly expression: Expression
  readonly isEnforced: boolean
}

/** The rules of one policy; those that do not compile are left out, since they are told elsewhere. */
export type RuleReader = (
  policy: ValidPolicy<Authorization>,
  stage: RuleStage,
  names: ReadonlyMap<string, string>,
) => readonly PlacedRule[]

/**
 * Each text is compiled once for its stage, however many places it holds at, and the rules of a
 * policy are the same objects wherever they are seen alike.
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
