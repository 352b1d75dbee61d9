import type { ValidPolicy } from '../../model/policy.ts'
import type { PlacedRule } from '../placed-rule.ts'
import { isApart, isPermissive, isSamePlace, verifierOf } from '../scopes.ts'
import { ALWAYS, all, any, type Formula, NEVER, negation } from '../symbolic/formula.ts'
import { NOT_TRUE, TRUE } from '../symbolic/outcome.ts'
import type { Space } from '../symbolic/space.ts'
import { certificateMissing } from './certificates.ts'
import type { Entry } from './entries.ts'

export function learnEntry(space: Space, { match, points }: Entry): void {
  if (match !== undefined) space.learn(match.condition)
  for (const { rules, required } of points) {
    for (const name of required) space.learnVariable(name)
    for (const { condition } of rules) space.learn(condition)
  }
}

/** The route takes it, unless another one comes first. */
export function takes(space: Space, { match }: Entry): Formula {
  return match === undefined ? ALWAYS : space.formula(match.condition, TRUE)
}

/** All stages on the way let it pass. */
export function admits(space: Space, { points }: Entry): Formula {
  return all([
    ...points.map(({ rules, invalid, required }) => {
      if (invalid.length > 0) return NEVER
      const of = enforcedBy(rules)
      const allows = of('Allow').map(({ condition }) => space.formula(condition, TRUE))
      return all([
        ...required.map((name) => space.isSet(name)),
        ...of('Deny').map(({ condition }) => space.formula(condition, NOT_TRUE)),
        ...of('Require').map(({ condition }) => space.formula(condition, TRUE)),
        ...(allows.length === 0 ? [] : [any(allows)]),
      ])
    }),
    ...oneToken(space, points),
  ])
}

/** In one place there is one token: each that does not pass bad ones takes it, or it is refused. */
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

/** Each reason to refuse by itself, where none of those before it holds. */
export function refusals(space: Space, entry: Entry): readonly Formula[] {
  const ways: Formula[] = []
  const passed: Formula[] = []
  const refuse = (way: Formula) => {
    ways.push(all([...passed, way]))
    passed.push(negation(way))
  }
  for (const missing of certificateMissing(space, entry)) refuse(missing)
  for (const { rules, invalid, required } of entry.points) {
    if (invalid.length > 0) refuse(ALWAYS)
    for (const name of required) refuse(negation(space.isSet(name)))
    const of = enforcedBy(rules)
    for (const { condition } of of('Deny')) refuse(space.formula(condition, TRUE))
    for (const { condition } of of('Require')) refuse(space.formula(condition, NOT_TRUE))
    const allows = of('Allow').map(({ condition }) => space.formula(condition, NOT_TRUE))
    if (allows.length > 0) refuse(all(allows))
  }
  return ways
}

function enforcedBy(rules: readonly PlacedRule[]) {
  const enforced = rules.filter(({ isEnforced }) => isEnforced)
  return (action: string) => enforced.filter(({ rule }) => rule.action === action)
}
