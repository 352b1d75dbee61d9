import type { Model } from '../model/model.ts'
import { unaccountedParts } from './diff/parts.ts'
import type { PlacedRule } from './placed-rule.ts'
import { type Point, pointsOf } from './points.ts'
import { Reasoning } from './reasoning.ts'
import { readsBody, readsModel } from './request-reads.ts'
import { isCovered } from './symbolic/covered.ts'
import { termKey } from './symbolic/term-key.ts'

/**
 * Whether it is proven that the rules of both Models decide alike at every place. Both must have
 * the same places, and only rules may differ. Rules that only one Model has must be of covered
 * forms; rules that both have may be of any form.
 */
export function isEquivalent(before: Model, after: Model): boolean {
  if (unaccountedParts(before, after).length > 0) return false
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
  // Determines which connections get here at all.
  if (JSON.stringify(old.believes) !== JSON.stringify(now.believes)) return false
  const [was, is] = [textsOf(old), textsOf(now)]
  if (was.join('\n') === is.join('\n')) return true
  // What lists show also depends on how a rule is written.
  if (old.stage === 'mcp') return false
  if (!isOtherwiseSame(old, now) || readsBody(old) !== readsBody(now)) return false
  // If rules read the model, requests that name none are denied.
  if (readsModel(old) !== readsModel(now)) return false
  if (!hasCovered(old, new Set(is)) || !hasCovered(now, new Set(was))) return false
  const facts = new Map([...old.facts, ...now.facts])
  const reasoning = new Reasoning({ stage: old.stage, rules: [...old.rules, ...now.rules], facts })
  return (
    reasoning.isImpossible(reasoning.admitted(old.rules), reasoning.denied(now.rules)) &&
    reasoning.isImpossible(reasoning.denied(old.rules), reasoning.admitted(now.rules))
  )
}

/** Whether all rules that the other point does not have are of a form that can be analyzed. */
function hasCovered({ rules }: Point, others: ReadonlySet<string>): boolean {
  return rules.every((rule) => others.has(textOf(rule)) || isCovered(rule.condition.term))
}

/** Whether the same requests reach the rules, and the rules know the same facts about them. */
function isOtherwiseSame(old: Point, now: Point): boolean {
  const of = ({ required, facts }: Point) =>
    JSON.stringify([required, [...facts].filter(([name]) => !name.includes('#'))])
  return of(old) === of(now)
}

function textsOf({ rules }: Point): readonly string[] {
  return rules.map(textOf)
}

function textOf({ rule, isEnforced, condition }: PlacedRule): string {
  return JSON.stringify([
    rule.action,
    termKey(condition.term),
    isEnforced,
    ...(condition.names ?? []),
  ])
}

function placeOf({ where }: Point): string {
  const { gateway, listener, route, rule, backend, provider, server } = where
  const names = [gateway, listener, route, rule, backend].map((one) => one?.name)
  return [...names, provider?.name ?? '', server?.name ?? ''].join('/')
}
