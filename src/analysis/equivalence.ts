import type { Model } from '../model/model.ts'
import { type Point, pointsOf } from './points.ts'
import { Reasoning } from './reasoning.ts'

/**
 * Whether it is proven that the rules of both Models decide alike at every place. Both must have
 * the same places: only rules may differ.
 */
export function isEquivalent(before: Model, after: Model): boolean {
  const later = pointsOf(after)
  for (const old of pointsOf(before)) {
    const { value: now } = later.next()
    if (now === undefined || !decidesAlike(old, now)) return false
  }
  return later.next().done === true
}

function decidesAlike(old: Point, now: Point): boolean {
  if (old.stage !== now.stage || placeOf(old) !== placeOf(now)) return false
  if (old.invalid.length > 0 || now.invalid.length > 0) {
    return old.invalid.length > 0 && now.invalid.length > 0
  }
  if (textOf(old) === textOf(now)) return true
  const facts = new Map([...old.facts, ...now.facts])
  const reasoning = new Reasoning({ stage: old.stage, rules: [...old.rules, ...now.rules], facts })
  return (
    reasoning.isImpossible(reasoning.admitted(old.rules), reasoning.refused(now.rules)) &&
    reasoning.isImpossible(reasoning.refused(old.rules), reasoning.admitted(now.rules))
  )
}

function textOf({ rules }: Point): string {
  return JSON.stringify(
    rules.map(({ rule, isEnforced, condition }) => [
      rule.action,
      rule.expression,
      isEnforced,
      ...(condition.names ?? []),
    ]),
  )
}

function placeOf({ where }: Point): string {
  const { gateway, listener, route, rule, backend, provider } = where
  return (
    [gateway, listener, route, rule, backend].map((one) => one?.name).join('/') + (provider ?? '')
  )
}
