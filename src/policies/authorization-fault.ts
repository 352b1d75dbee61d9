import type { Variables } from '../cel/index.ts'
import type { Decision, RulePlace } from '../exchange/decision.ts'
import { entered, type PlacedRule, placeOf, type ScopedRules } from './authorization-judgement.ts'

/**
 * If a rule throws, this is a bug and counts as an expression over its limit: a Deny rule denies, a
 * Require rule denies, an Allow rule does not admit. The code below runs only after a throw, so it
 * may be slow, but must not stall requests: beyond this many rules, none is named.
 */
const MAX_EVALUATED_APART = 256

export interface Thrown {
  /** Undefined if unknown: the index threw, or there are too many rules. */
  readonly rule: RulePlace | undefined
  readonly error: unknown
}

/** The first rule of a set that throws on its own, after the set did. */
export function findThrowing(set: ScopedRules, variables: Variables, error: unknown): Thrown {
  for (const [rule, test] of apart(set)) {
    try {
      entered(set, variables)
      test(variables)
    } catch (own) {
      return { rule: placeOf(rule), error: own }
    }
  }
  return { rule: undefined, error }
}

/**
 * Evaluates Allow rules one by one after their set threw: the rule that admits, or -1. If none of
 * them throws on its own, the index threw, and what it would have found is unknown.
 */
export function admittingApart(
  set: ScopedRules,
  variables: Variables,
  error: unknown,
): Thrown & { readonly admitting: number } {
  let thrown: Thrown | undefined
  let admitting = -1
  for (const [at, [rule, test]] of apart(set).entries()) {
    try {
      entered(set, variables)
      if (test(variables) && admitting < 0) admitting = at
    } catch (own) {
      thrown ??= { rule: placeOf(rule), error: own }
    }
  }
  return thrown === undefined ? { rule: undefined, error, admitting: -1 } : { ...thrown, admitting }
}

type Predicate = (variables: Variables) => boolean
type Apart = readonly (readonly [PlacedRule, Predicate])[]

/** Cached: a client that can make a rule throw can do so repeatedly. */
const compiled = new WeakMap<ScopedRules, Apart>()

function apart(set: ScopedRules): Apart {
  const known = compiled.get(set)
  if (known !== undefined) return known
  const isFew = set.placed.length <= MAX_EVALUATED_APART
  const made = (isFew ? set.placed : []).map((rule) => [rule, rule.expression.predicate()] as const)
  compiled.set(set, made)
  return made
}

/** The record of a decision that could not be made or explained. */
export function undecided(
  stage: Decision['stage'],
  cause: Decision['cause'],
  rule: RulePlace | undefined,
): Decision {
  return {
    stage,
    isAllowed: false,
    isEnforced: true,
    cause,
    rule,
    failure: { reason: 'internal error', variable: undefined, present: [] },
    nearest: undefined,
    search: undefined,
    audited: undefined,
    invalid: undefined,
    provider: undefined,
    isSkipped: false,
    attributes: [],
  }
}
