import type { ValidPolicy } from '../../model/policy.ts'
import type { PlacedRule } from '../placed-rule.ts'
import { conditionsAt, type Point } from '../points.ts'
import { isApart, isPermissive, isSamePlace, verifierOf } from '../scopes.ts'
import { ALWAYS, all, any, type Formula, NEVER, negation } from '../symbolic/formula.ts'
import { NOT_TRUE, TRUE } from '../symbolic/outcome.ts'
import type { Space } from '../symbolic/space.ts'
import { certificateMissing } from './certificates.ts'
import { authenticationsOf, type Entry } from './entries.ts'

export function learnEntry(space: Space, { match, form, served, points }: Entry): void {
  if (served !== undefined) space.learn(served)
  if (match !== undefined) space.learn(match.condition)
  if (form?.condition !== undefined) space.learn(form.condition)
  for (const point of points) {
    for (const name of point.required) space.learnVariable(name)
    for (const { condition } of conditionsAt(point)) space.learn(condition)
  }
}

/** The route matches the request, unless an earlier route does. */
export function takes(space: Space, { match, form }: Entry): Formula {
  const conditions = [match?.condition, form?.condition].filter((one) => one !== undefined)
  return all(conditions.map((one) => space.formula(one, TRUE)))
}

/** All stages of the way admit the request, and something responds to it. */
export function admits(space: Space, { points, isServed, served: entryServed }: Entry): Formula {
  const before = points.filter(({ stage }) => stage !== 'backend')
  const behind = points.filter(({ stage, unknown }) => stage === 'backend' && unknown === undefined)
  const shown = shows(space, points)
  const served = isServed ? all([...behind.map((point) => passes(space, point)), shown]) : NEVER
  const { welcome, left } = replied(space, points)
  return all([
    ...(entryServed === undefined ? [] : [space.formula(entryServed, TRUE)]),
    ...before.map((point) => passes(space, point)),
    any([welcome, all([left, served])]),
    ...oneToken(space, points),
  ])
}

/** One of the points at which not everything is known may allow the message. */
function shows(space: Space, points: Entry['points']): Formula {
  const own = points.filter(({ unknown }) => unknown !== undefined)
  return own.length === 0 ? ALWAYS : any(own.map((point) => mayPass(space, point)))
}

/** As `McpVisibility` decides: rules that a token with more scopes would pass do not count. */
function mayPass(space: Space, { rules, invalid, unknown = [] }: Point): Formula {
  if (invalid.length > 0) return NEVER
  const of = enforcedBy(rules.filter(({ rule }) => rule.scopes === undefined))
  const may = ({ condition, rule }: PlacedRule) => space.possibly(condition, rule.action, unknown)
  const allows = of('Allow').map(may)
  return all([
    ...of('Deny').map((one) => negation(may(one))),
    ...of('Require').map(may),
    ...(allows.length === 0 ? [] : [any(allows)]),
  ])
}

function passes(space: Space, { rules, invalid, required }: Point): Formula {
  if (invalid.length > 0) return NEVER
  const of = enforcedBy(rules)
  const allows = of('Allow').map(({ condition }) => space.matches(condition, 'Allow'))
  return all([
    ...required.map((name) => space.isSet(name)),
    ...of('Deny').map(({ condition }) => space.misses(condition, 'Deny')),
    ...of('Require').map(({ condition }) => space.matches(condition, 'Require')),
    ...(allows.length === 0 ? [] : [any(allows)]),
  ])
}

/**
 * How the gateway's own responses affect the request: it gets one that is not an error, one that
 * is, or it goes on to the backends.
 */
function replied(space: Space, points: Entry['points']) {
  const [welcome, error, passed]: [Formula[], Formula[], Formula[]] = [[], [], []]
  for (const { replies } of points) {
    for (const { when, isError } of replies === 'untold' ? [] : replies) {
      const isMet = when === undefined ? ALWAYS : space.matches(when.condition, 'Require')
      const applies = all([...passed, isMet])
      if (isError) error.push(applies)
      else welcome.push(applies)
      passed.push(when === undefined ? NEVER : space.misses(when.condition, 'Require'))
    }
  }
  return { welcome: any(welcome), error: any(error), left: all(passed) }
}

/**
 * A request has one token per place: every authentication there that is not permissive must accept
 * it, or the request is rejected.
 */
function oneToken(space: Space, points: Entry['points']): readonly Formula[] {
  const all = [...new Set(points.flatMap(({ authentications }) => authentications))]
  const isSet = (policy: ValidPolicy) => space.isSet(`jwt#${verifierOf(policy)}`)
  return all.flatMap((one) =>
    all
      .filter((other) => other !== one && isSamePlace(one, other))
      .flatMap((other) => {
        const none = negation(isSet(one))
        const isTaken = isPermissive(other) ? [] : [any([none, isSet(other)])]
        return isApart(one, other) ? [...isTaken, any([none, negation(isSet(other))])] : isTaken
      }),
  )
}

/** The same for two ways: a token is never accepted by both if they have no issuer in common. */
export function oneTokenForBoth(space: Space, one: Entry, other: Entry): readonly Formula[] {
  const isMissing = (policy: ValidPolicy) => negation(space.isSet(`jwt#${verifierOf(policy)}`))
  return authenticationsOf(one).flatMap((own) =>
    authenticationsOf(other)
      .filter((policy) => isSamePlace(own, policy) && isApart(own, policy))
      .map((policy) => any([isMissing(own), isMissing(policy)])),
  )
}

/** Each reason to reject a request, given that none of the earlier reasons applies. */
export function denials(space: Space, entry: Entry): readonly Formula[] {
  const ways: Formula[] = []
  const passed: Formula[] = []
  const deny = (way: Formula) => {
    ways.push(all([...passed, way]))
    passed.push(negation(way))
  }
  for (const missing of certificateMissing(space, entry)) deny(missing)
  for (const { stage, rules, invalid, required, unknown } of entry.points) {
    if (unknown !== undefined) continue
    if (stage === 'backend') passed.push(replied(space, entry.points).left)
    if (invalid.length > 0) deny(ALWAYS)
    for (const name of required) deny(negation(space.isSet(name)))
    const of = enforcedBy(rules)
    for (const { condition } of of('Deny')) deny(space.matches(condition, 'Deny'))
    for (const { condition } of of('Require')) deny(space.misses(condition, 'Require'))
    const allows = of('Allow').map(({ condition }) => space.misses(condition, 'Allow'))
    if (allows.length > 0) deny(all(allows))
  }
  const hidden = negation(shows(space, entry.points))
  if (hidden !== NEVER) deny(hidden)
  return ways
}

/** No rule rejects the request, but the response is an error, or nothing can serve it. */
export function unserved(space: Space, entry: Entry): readonly Formula[] {
  const before = { ...entry, points: entry.points.filter(({ stage }) => stage !== 'backend') }
  const passed = denials(space, before).map(negation)
  const { error, left } = replied(space, entry.points)
  const closed = entry.served === undefined ? [] : [space.formula(entry.served, NOT_TRUE)]
  return [
    all([...passed, error]),
    ...(entry.isServed ? [] : [all([...passed, left])]),
    ...closed.map((one) => all([...passed, one])),
  ]
}

function enforcedBy(rules: readonly PlacedRule[]) {
  const enforced = rules.filter(({ isEnforced }) => isEnforced)
  return (action: string) => enforced.filter(({ rule }) => rule.action === action)
}
