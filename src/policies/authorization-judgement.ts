import {
  type Cause,
  causeOf,
  type Expression,
  explainRule,
  isCut,
  ledgerOf,
  nearer,
  type Rule,
  type RuleExplanation,
  type RuleSet,
  type Variables,
} from '../cel/index.ts'
import { originIn } from '../diagnostics/places.ts'
import type {
  Attribute,
  DecisionSampler,
  Failure,
  Judgement,
  Miss,
  NearMiss,
  RulePlace,
} from '../exchange/decision.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Scope } from '../exchange/identity.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Authorization } from './authorization-rules.ts'
import { readAttribute } from './read-attribute.ts'

/** A rule and where it is defined. */
export interface PlacedRule extends Rule {
  readonly policy: ValidPolicy<Authorization>
  readonly index: number
}

/** Rules that see the same identities; scope undefined: there is no authentication here. */
export interface ScopedRules {
  readonly rules: RuleSet
  /** Where each rule is defined: one set may represent the same rules of many policies. */
  readonly placed: readonly PlacedRule[]
  readonly scope: Scope | undefined
}

/** Returns the rules after entering their scope. */
export function entered({ rules, scope }: ScopedRules, variables: Variables): RuleSet {
  if (scope !== undefined) (variables as unknown as Exchange).enter(scope)
  return rules
}

/** Sets of one action each, those of the gateway first. */
export interface RuleGroups<T extends ScopedRules = ScopedRules> {
  readonly denies: readonly T[]
  readonly requires: readonly T[]
  readonly allows: readonly T[]
}

/**
 * Max Allow rules examined in the search for the nearest miss; after the given milliseconds, the
 * search ends once it has examined the min.
 */
const MAX_SEARCHED = 64
const MIN_SEARCHED = 8
const MAX_SEARCH = 5
/** Max rules read, and max attributes named, in a record. */
const MAX_READ = 64
const MAX_ATTRIBUTES = 32
/** Max rules checked per look for failures. */
const MAX_TRIED = 16
/** Max cost of such a look, in units of fuel. */
const TRIED_EFFORT = 50_000

/** The judgement, and the rules that it names. */
export interface Judged {
  readonly judgement: Judgement
  readonly named: readonly SetRule[]
}

/** A rule in its set. */
export interface SetRule {
  readonly set: ScopedRules
  /** Its index in the set. */
  readonly at: number
  readonly rule: PlacedRule
}

/** The cause of a denial: a rule, or that no Allow rule matched. */
export type Denial = SetRule | 'no-allow-match'

/**
 * Explains a decision: which rule, and why. Only the deciding rule is explained. A denial that is
 * already known is not evaluated again, which would double the cost.
 */
export function judge(
  groups: RuleGroups,
  variables: Variables,
  sampler: DecisionSampler,
  denial?: Denial,
): Judged {
  if (denial !== undefined) return denied(denial, groups, variables, sampler)
  ledgerOf(variables)?.renew()
  const { denies, requires, allows } = groups
  const own = denyingIn(denies, variables) ?? denyingIn(requires, variables)
  if (own !== undefined) return denied(own, groups, variables, sampler)
  if (allows.length === 0) return decided(true, 'no-rules')
  for (const set of allows) {
    const rule = entered(set, variables).admitting(variables)
    if (rule >= 0) return decided(true, 'matched', ruleAt(set, rule))
  }
  return unmatched(allows, variables, sampler)
}

/** The rule in sets of Deny or Require rules that denies. */
function denyingIn<T extends ScopedRules>(
  sets: readonly T[],
  variables: Variables,
): SetRule | undefined {
  for (const set of sets) {
    const rule = entered(set, variables).denying(variables)
    if (rule >= 0) return ruleAt(set, rule)
  }
  return undefined
}

function denied(
  own: Denial,
  { allows }: RuleGroups,
  variables: Variables,
  sampler: DecisionSampler,
): Judged {
  if (own === 'no-allow-match') return unmatched(allows, variables, sampler)
  const explained = explain(own, variables, ledgerOf(variables)?.explaining)
  if (isCut(explained)) return unexplained(own, explained, variables)
  if (own.rule.action === 'Deny') {
    return decided(false, explained.isTrue ? 'matched' : 'error', own, explained)
  }
  if (explained.isTrue) return decided(false, 'error', own)
  report(own.rule, explained, sampler)
  return decided(false, causeOf(explained), own, explained)
}

/** The explanation would cost too much, so the result of the rule is computed without one. */
function unexplained(own: SetRule, explained: RuleExplanation, variables: Variables): Judged {
  ledgerOf(variables)?.renew()
  entered(own.set, variables)
  const { expression, action } = own.rule
  const evaluate = evaluations.get(expression) ?? expression.evaluate()
  evaluations.set(expression, evaluate)
  const value = evaluate(variables)
  if (action === 'Deny' && value === true) return decided(false, 'matched', own)
  if (action === 'Require' && typeof value === 'boolean') return decided(false, 'false', own)
  return decided(false, 'error', own, explained)
}

const evaluations = new WeakMap<Expression, ReturnType<Expression['evaluate']>>()

export function ruleAt(set: ScopedRules, at: number): SetRule {
  return { set, at, rule: set.placed[at] as PlacedRule }
}

function decided(
  isAllowed: boolean,
  cause: Judgement['cause'],
  own?: SetRule,
  explained?: RuleExplanation,
): Judged {
  const known = cause === 'matched' ? undefined : failureOf(explained?.explanation.cause)
  const judgement = {
    isAllowed,
    cause,
    rule: own && placeOf(own.rule),
    failure: cause === 'error' ? (known ?? SPENT) : known,
    nearest: undefined,
    search: undefined,
  }
  return { judgement, named: own === undefined ? [] : [own] }
}

/** Evaluated alone the rule has a result, but the rules before it used up the budget. */
const SPENT: Failure = {
  reason: 'the cost limit for the rules of this request is exceeded',
  variable: undefined,
  present: [],
}

interface Nearest {
  readonly own: SetRule
  readonly explained: RuleExplanation
}

/** No Allow rule matched: reports the nearest one. */
function unmatched(
  allows: RuleGroups['allows'],
  variables: Variables,
  sampler: DecisionSampler,
): Judged {
  const { judgement } = decided(false, 'no-allow-match')
  const of = allows.reduce((sum, { placed }) => sum + placed.length, 0)
  const found = sampler.search(() => searchNearest(allows, variables, sampler))
  if (found === undefined) {
    return { judgement: { ...judgement, search: { rules: 0, of, extent: 'skipped' } }, named: [] }
  }
  const { best, searched } = found
  const extent = searched === of ? 'all' : 'bounded'
  const nearest = best && nearMiss(best)
  return {
    judgement: { ...judgement, nearest, search: { rules: searched, of, extent } },
    named: best === undefined ? [] : [best.own],
  }
}

function searchNearest(
  allows: RuleGroups['allows'],
  variables: Variables,
  sampler: DecisionSampler,
): { readonly best: Nearest | undefined; readonly searched: number } {
  const until = performance.now() + MAX_SEARCH
  const effort = ledgerOf(variables)?.explaining
  let best: Nearest | undefined
  let searched = 0
  for (const own of rulesIn(allows)) {
    const isLate = searched >= MIN_SEARCHED && performance.now() > until
    if (searched === MAX_SEARCHED || isLate) break
    const explained = explain(own, variables, effort)
    if (isCut(explained)) break
    searched++
    report(own.rule, explained, sampler)
    if (best === undefined || nearer(best.explained, explained) === explained) {
      best = { own, explained }
    }
  }
  return { best, searched }
}

function* rulesIn(sets: RuleGroups['allows']): Generator<SetRule> {
  for (const set of sets) {
    for (let at = 0; at < set.placed.length; at++) yield ruleAt(set, at)
  }
}

function nearMiss({ own: { rule }, explained }: Nearest): NearMiss {
  const { text } = rule.expression
  return {
    rule: placeOf(rule),
    misses: explained.misses.map(({ atom, wanted }): Miss => {
      const { term, value, cause } = atom
      const condition = text.slice(term.start, term.end)
      if (typeof value === 'boolean') {
        return { condition, wanted, cause: value ? 'true' : 'false', failure: undefined }
      }
      const isUnset = cause?.kind === 'unset' || cause?.kind === 'missing'
      return { condition, wanted, cause: isUnset ? 'unset' : 'error', failure: failureOf(cause) }
    }),
  }
}

/** Names, and the gateway's own description of the error: never a value from the request. */
function failureOf(cause: Cause | undefined): Failure | undefined {
  switch (cause?.kind) {
    case 'unset':
      return { reason: undefined, variable: cause.variable, present: [] }
    case 'missing':
      return { reason: undefined, variable: cause.path, present: cause.present }
    case 'error':
      return { reason: cause.reason, variable: undefined, present: [] }
    default:
      return undefined
  }
}

/** The attributes that the rules read, starting with those of the rules that a judgement names. */
export function attributesOf(
  named: readonly SetRule[],
  groups: RuleGroups,
  variables: Variables,
): readonly Attribute[] {
  const found = new Map<string, Attribute>()
  const add = ({ set, rule }: SetRule) => {
    entered(set, variables)
    for (const read of readsOf(rule)) {
      if (found.size === MAX_ATTRIBUTES) return
      const known = found.get(read.path)
      // Policies may see different identities: a value that is visible is preferred.
      if (known !== undefined && (known.value !== undefined || known.missing !== read.variable)) {
        continue
      }
      found.set(read.path, readAttribute(read, variables))
    }
  }
  for (const own of named) add(own)
  let looked = 0
  for (const own of rulesIn([...groups.denies, ...groups.requires, ...groups.allows])) {
    if (looked++ === MAX_READ) break
    add(own)
  }
  return [...found.values()]
}

/**
 * Reports a few rules, from the cursor on, that have no boolean result; returns the next cursor.
 */
export function reportFailures(
  groups: RuleGroups,
  cursor: number,
  variables: Variables,
  sampler: DecisionSampler,
): number {
  const sets = [...groups.denies, ...groups.requires, ...groups.allows]
  const effort = { left: TRIED_EFFORT }
  const total = sets.reduce((sum, { placed }) => sum + placed.length, 0)
  for (let i = 0; i < Math.min(MAX_TRIED, total); i++) {
    const own = ruleBehind(sets, (cursor + i) % total)
    const explained = explain(own, variables, effort)
    if (!isCut(explained)) report(own.rule, explained, sampler)
  }
  return (cursor + MAX_TRIED) % Math.max(total, 1)
}

/** The rule at an index into all sets together. */
function ruleBehind(sets: RuleGroups['allows'], place: number): SetRule {
  let at = place
  for (const set of sets) {
    if (at < set.placed.length) return ruleAt(set, at)
    at -= set.placed.length
  }
  throw new Error('there is no such rule')
}

function report(
  rule: PlacedRule,
  { explanation }: RuleExplanation,
  sampler: DecisionSampler,
): void {
  const { value, cause } = explanation
  if (typeof value === 'boolean') return
  if (value !== undefined) sampler.failed(placeOf(rule), 'not-boolean')
  else sampler.failed(placeOf(rule), cause?.kind === 'error' ? 'error' : 'unset')
}

export function placeOf(rule: PlacedRule): RulePlace {
  const { action, expression, policy, index } = rule
  const scopes = policy.value.rules[index]?.scopes
  return {
    policy: policy.policy,
    section: policy.section,
    level: policy.level,
    kind: policy.kind,
    action,
    index,
    field: policy.value.rules[index]?.field ?? '',
    expression: expression.text,
    mode: policy.value.mode,
    origin: originIn(policy.origin, policy.value.rules[index]?.field ?? ''),
    ...(scopes === undefined ? {} : { scopes }),
  }
}

/** Max cost of an explanation; undefined: no limit. */
type Effort = Parameters<typeof explainRule>[3]

/**
 * The syntax trees of recently explained rules, so that a burst of denials does not parse them
 * again.
 */
const kept = new Set<Expression>()
const MAX_KEPT = 256

function explain(
  { set, at, rule }: SetRule,
  variables: Variables,
  effort: Effort,
): RuleExplanation {
  entered(set, variables)
  const { expression } = rule
  if (kept.delete(expression)) kept.add(expression)
  else {
    expression.retain()
    kept.add(expression)
    const [oldest] = kept
    if (kept.size > MAX_KEPT && oldest !== undefined) {
      kept.delete(oldest)
      oldest.release()
    }
  }
  return explainRule(rule, at, variables, effort)
}

const reads = new WeakMap<Expression, Expression['reads']>()

function readsOf({ expression }: PlacedRule): Expression['reads'] {
  const known = reads.get(expression) ?? expression.reads
  reads.set(expression, known)
  return known
}
