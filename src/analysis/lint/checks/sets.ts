import type { PlacedRule } from '../../placed-rule.ts'
import type { Point } from '../../points.ts'
import { readsCall, readsModel } from '../../request-reads.ts'
import { any } from '../../symbolic/formula.ts'
import type { Check } from '../check.ts'
import { aboutRule, type Finding, originOfRule } from '../finding.ts'
import { placeName } from '../place.ts'
import { type ReasonedPoint, ruleKey } from '../survey.ts'
import { isNever } from './never.ts'

const enforced = ({ point }: ReasonedPoint) => point.rules.filter(({ isEnforced }) => isEnforced)

/** AZ007: a second block of Allow rules can only widen what the first one admits. */
export const wideningAllow: Check = function* ({ points }) {
  const reported = new Set<string>()
  for (const seen of points) {
    const allows = enforced(seen).filter(({ rule }) => rule.action === 'Allow')
    const first = allows[0]
    if (first === undefined) continue
    for (const later of firstOfEachPolicy(allows.slice(1), first)) {
      const key = ruleKey(later)
      if (reported.has(key)) continue
      const { reasoning } = seen
      const earlier = allows.slice(0, allows.indexOf(later))
      const own = allows.filter(({ policy }) => policy === later.policy)
      const admitsMore = any(own.map((rule) => reasoning.matches(rule)))
      const denied = earlier.map((rule) => reasoning.missed(rule))
      if (reasoning.isImpossible(admitsMore, ...denied)) continue
      reported.add(key)
      const said = {
        code: 'AZ007',
        severity: 'warning',
        message: `this adds to the Allow rules of \`${first.policy.policy}\`: it can only admit more, never less`,
        hint: 'Allow rules of all policies are alternatives; to restrict what they admit, use Require',
      } as const
      yield { diagnostic: aboutRule(said, later) }
    }
  }
}

function firstOfEachPolicy(rules: readonly PlacedRule[], first: PlacedRule) {
  const seen = new Set([first.policy])
  return rules.filter(({ policy }) => {
    if (seen.has(policy)) return false
    seen.add(policy)
    return true
  })
}

/** AZ016: if all rules are Deny rules, requests that they do not match are admitted. */
export const denyOnly: Check = function* ({ points }) {
  const reported = new Set<string>()
  for (const seen of points) {
    const rules = enforced(seen)
    const [first] = rules
    if (first === undefined || rules.some(({ rule }) => rule.action !== 'Deny')) continue
    const key = ruleKey(first)
    if (reported.has(key)) continue
    reported.add(key)
    const said = {
      code: 'AZ016',
      severity: 'info',
      message: `only Deny rules guard ${placeName(seen.point)}: all other requests are allowed`,
      hint: 'add Allow or Require rules that define which requests are allowed',
    } as const
    yield { diagnostic: aboutRule(said, first) }
  }
}

/** If a point has more rules of one action than this, they are compared only by their text. */
const MAX_COMPARED = 150

/** AZ010: rules without effect, because others of the same action cover them. */
export const redundant: Check = function* ({ points, rules }) {
  const because = new Map<string, PlacedRule[]>()
  for (const seen of points) {
    for (const action of ['Deny', 'Require', 'Allow'] as const) {
      const own = enforced(seen).filter(({ rule }) => rule.action === action)
      for (const found of redundantAmong(own, seen)) {
        const [rule, other] = found
        if (isOnlyReader(rule, seen)) continue
        const key = ruleKey(rule)
        const known = because.get(key)
        if (known === undefined) because.set(key, [other])
        else known.push(other)
      }
    }
  }
  for (const { placed, at } of rules) {
    const others = because.get(ruleKey(placed))
    // A rule that is needed at only one point is still needed.
    if (others === undefined || others.length < at.length) continue
    yield redundancy(placed, others[0] as PlacedRule)
  }
}

/** By reading the model, the rule also denies requests that name none, whatever its result. */
function isOnlyReader(placed: PlacedRule, { point }: ReasonedPoint): boolean {
  if (point.where.provider === undefined || !readsModel({ rules: [placed] })) return false
  return !readsModel({ rules: point.rules.filter((one) => one !== placed) })
}

function redundancy(placed: PlacedRule, other: PlacedRule): Finding {
  const { rule } = placed
  const isSame = rule.expression === other.rule.expression
  const what = isSame ? 'the same rule as' : 'covered by'
  const hint =
    rule.action === 'Require'
      ? 'every request that satisfies that rule also satisfies this one: remove it'
      : 'every request that matches this rule also matches that one: remove it'
  return {
    diagnostic: aboutRule(
      {
        code: 'AZ010',
        severity: 'warning',
        message: `${what} \`${other.rule.expression}\` of \`${other.policy.policy}\`: this rule has no effect`,
        hint,
      },
      placed,
    ),
    fix: { kind: 'remove', at: originOfRule(placed), from: rule.expression },
  }
}

function* redundantAmong(
  rules: readonly PlacedRule[],
  seen: ReasonedPoint,
): Generator<readonly [PlacedRule, PlacedRule]> {
  const { reasoning } = seen
  const isLong = rules.length > MAX_COMPARED
  const covers = (a: PlacedRule, b: PlacedRule) => {
    if (a.condition.text === b.condition.text) return sameNames(a, b)
    if (isLong || !sharesReads(a, b)) return false
    // An Allow rule is covered by a wider one, a Require rule by a narrower one.
    return a.rule.action === 'Require'
      ? reasoning.isImpossible(reasoning.matches(a), reasoning.missed(b))
      : reasoning.isImpossible(reasoning.matches(b), reasoning.missed(a))
  }
  const live = rules.filter((placed) => isLong || !isNever(placed, reasoning))
  for (const [index, rule] of live.entries()) {
    const other = live.find((one, at) => {
      return at !== index && covers(one, rule) && (at < index || !covers(rule, one))
    })
    if (other !== undefined) yield [rule, other]
  }
}

function sameNames(a: PlacedRule, b: PlacedRule): boolean {
  const names = b.condition.names
  return [...(a.condition.names ?? [])].every(([variable, name]) => {
    const isRead = a.reads.some((read) => read.variable === variable)
    return !isRead || names?.get(variable) === name
  })
}

/** Conditions that read different attributes do not cover each other. */
function sharesReads(a: PlacedRule, b: PlacedRule): boolean {
  return a.reads.some(({ variable, fields }) =>
    b.reads.some((other) => other.variable === variable && other.fields[0] === fields[0]),
  )
}

/** AZ010: Allow rules whose requests are denied anyway, and points that admit no request. */
export const unreachable: Check = function* ({ points, rules }) {
  const closed = new Set<ReasonedPoint['point']>()
  for (const { point, reasoning, isWhole } of points) {
    if (!isWhole) continue
    const own = point.rules.filter(({ isEnforced }) => isEnforced)
    const [first] = own
    // Requests that no route matches are rejected in any case.
    const isNowhere = point.stage === 'traffic' && point.where.route === undefined
    if (first === undefined || isNowhere) continue
    if (!reasoning.isImpossible(reasoning.admitted())) continue
    closed.add(point)
    // If a single rule denies every request, it is reported at that rule.
    const isAlone = own.some((placed) => {
      const closes =
        placed.rule.action === 'Deny' ? reasoning.missed(placed) : reasoning.matches(placed)
      return placed.rule.action !== 'Allow' && reasoning.isImpossible(closes)
    })
    const allows = own.filter(({ rule }) => rule.action === 'Allow')
    const isNone = allows.length > 0 && allows.every((placed) => isNever(placed, reasoning))
    if (isAlone || isNone) continue
    const subject = subjectAt(point)
    const said = {
      code: 'AZ010',
      severity: 'error',
      message: `no ${subject} is admitted at ${placeName(point)}: its rules together deny every ${subject}`,
      hint: 'the rules contradict each other; `portcullis explain` shows the result of each for a request',
    } as const
    yield { diagnostic: aboutRule(said, first) }
  }
  for (const { placed, at } of rules) {
    if (placed.rule.action !== 'Allow' || !placed.isEnforced) continue
    const isDead = at.every(
      (seen) =>
        seen.point.rules.some(({ rule }) => rule.action !== 'Allow') &&
        !closed.has(seen.point) &&
        !isNever(seen.placed, seen.reasoning) &&
        seen.reasoning.isImpossible(seen.reasoning.matches(seen.placed), seen.reasoning.admitted()),
    )
    if (!isDead) continue
    const subject = at.some(({ point }) => subjectAt(point) === 'call') ? 'call' : 'request'
    const said = {
      code: 'AZ010',
      severity: 'warning',
      message: `this rule admits no ${subject}s: Deny or Require rules deny every ${subject} that it matches`,
      hint: 'they are evaluated before Allow rules, at whatever level they are set',
    } as const
    yield { diagnostic: aboutRule(said, placed) }
  }
}

/** Messages that name no tool, prompt or resource are denied only if no call could be admitted. */
function subjectAt(point: Pick<Point, 'rules'>): string {
  return readsCall(point) ? 'call' : 'request'
}
