import type { Variables } from '../cel/index.ts'
import type { Decision, RulePlace } from '../exchange/decision.ts'
import { entered, type PlacedRule, placeOf, type ScopedRules } from './authorization-judgement.ts'

/**
 * A throw in a rule is an error of ours, and counts as an expression over its bound: a Deny rule
 * denies, a Require rule denies, an Allow rule does not admit. What follows runs after a throw
 * alone, so that it may take its time, but not a request's: beyond this many rules none is named.
 */
const MAX_EVALUATED_APART = 256

export interface Thrown {
  /** Undefined where it is not known which: the index threw, or there are too many. */
  readonly rule: RulePlace | undefined
  readonly error: unknown
}

/** The first rule of a set that throws by itself, after the set did. */
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
 * Allow rules one by one, after their set threw: the one that admits, or -1. Where none of them
 * throws by itself it was the index, and nothing is known of what it would have found.
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

/** Kept: who can make a rule throw can do so again and again. */
const compiled = new WeakMap<ScopedRules, Apart>()

function apart(set: ScopedRules): Apart {
  const known = compiled.get(set)
  if (known !== undefined) return known
  const isFew = set.placed.length <= MAX_EVALUATED_APART
  const made = (isFew ? set.placed : []).map((rule) => [rule, rule.expression.predicate()] as const)
  compiled.set(set, made)
  return made
}

/** What is told of a decision that could not be made or explained. */
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
