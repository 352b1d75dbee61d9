import type { Term } from '../../../cel/check/term.ts'
import type { Diagnostic } from '../../../diagnostics/diagnostic.ts'
import type { Match } from '../../../model/route.ts'
import { mergesSlashes } from '../../../policies/frontend-http/schema.ts'
import { effectiveAt } from '../../../reach/effective.ts'
import { Reach } from '../../../reach/reach.ts'
import type { PlacedRule } from '../../placed-rule.ts'
import type { Check } from '../check.ts'
import { aboutRule } from '../finding.ts'
import { matchesOf, type RuleUse, type SurveyedPoint } from '../survey.ts'
import { signedLeaves } from '../terms.ts'
import { constantOf, readsPath } from './wording.ts'

/** AZ012: path prefixes that end within a segment, and exact paths in Deny rules. */
export const pathBoundaries: Check = function* ({ rules }) {
  const all = rules.map(({ placed }) => placed)
  const denied = Map.groupBy(all.flatMap(deniedPrefixes), ([policy]) => policy)
  for (const use of rules) {
    const { placed } = use
    const prefixes = (denied.get(placed.policy.policy) ?? []).map(([, prefix]) => prefix)
    for (const { term, wanted } of signedLeaves(placed.condition.term)) {
      const said = pathProblem(use, term, wanted, prefixes)
      if (said !== undefined) yield { diagnostic: said }
    }
  }
}

/** Path prefixes that a Deny rule names, with the policy that denies them. */
function deniedPrefixes({ rule, policy, condition }: PlacedRule): (readonly [string, string])[] {
  if (rule.action !== 'Deny') return []
  return [...signedLeaves(condition.term)].flatMap(({ term, wanted }) => {
    const prefix = constantOf(term)
    const isPrefix = term.kind === 'call' && term.name === 'startsWith' && readsPath(term)
    return wanted && isPrefix && prefix !== undefined ? [[policy.policy, prefix] as const] : []
  })
}

function pathProblem(
  use: RuleUse,
  term: Term,
  wanted: boolean,
  denied: readonly string[],
): Diagnostic | undefined {
  const { placed } = use
  const isDeny = placed.rule.action === 'Deny'
  const text = constantOf(term)
  if (text === undefined || !readsPath(term)) return undefined
  const about = (severity: 'warning' | 'info', message: string, hint: string) =>
    aboutRule({ code: 'AZ012', severity, message, hint }, placed, term)
  if (term.kind === 'call' && term.name === 'startsWith' && !text.endsWith('/') && text !== '') {
    const example = exampleBeyond(use, text)
    if (example === undefined) return undefined
    const exact = `request.path == '${text}' || request.path.startsWith('${text}/')`
    const message = `this also matches \`${example}\`: the prefix ends within a segment`
    // Denying or requiring too much is safe; admitting too much is not.
    return about(isDeny === wanted ? 'info' : 'warning', message, `write \`${exact}\``)
  }
  if (term.kind === 'call' && term.name === 'matches' && !/^(\^|\\A)/.test(text)) {
    const message = 'this pattern may match anywhere in the path'
    return about(
      'warning',
      message,
      'begin it with `^`, and end it with `$` to match the entire path',
    )
  }
  if (term.kind === 'equal' && isDeny && wanted !== term.negated && text !== '/') {
    const below = text.endsWith('/') ? text : `${text}/`
    if (denied.some((prefix) => below.startsWith(prefix))) return undefined
    if (!use.at.some((seen) => takes(seen, `${below}x`))) return undefined
    const message = `${below === text ? '' : `\`${below}\` and `}paths below \`${text}\` are not denied`
    return about('warning', message, `add \`|| request.path.startsWith('${below}')\``)
  }
  return undefined
}

/** A path that continues the prefix within a segment and reaches the rule by some route. */
function exampleBeyond({ at }: RuleUse, prefix: string): string | undefined {
  for (const seen of at) {
    const written = matchesAt(seen).map(({ path }) => (path.kind === 'exact' ? path.value : ''))
    const found = [`${prefix}x`, ...written].find(
      (path) =>
        path.length > prefix.length &&
        path.startsWith(prefix) &&
        path[prefix.length] !== '/' &&
        takes(seen, path),
    )
    if (found !== undefined) return found
  }
  return undefined
}

function matchesAt({ placed, point }: SurveyedPoint): readonly Match[] {
  return matchesOf([placed], point.where)
}

/** Whether the route may match the path. Patterns are assumed to match. */
function takes(seen: SurveyedPoint, path: string): boolean {
  const matches = matchesAt(seen)
  if (matches.length === 0) return true
  return matches.some(({ path: { kind, value } }) => {
    if (kind === 'exact') return path === value
    const prefix = value.replace(/\/$/, '')
    return kind === 'regex' || path === prefix || path.startsWith(`${prefix}/`)
  })
}

/** AZ027: adjacent slashes are preserved, so the same path can be written in several ways. */
export const keptSlashes: Check = function* ({ rules, model }) {
  const reach = new Reach(model)
  for (const { placed, at } of rules) {
    if (placed.rule.action !== 'Deny') continue
    const isKept = at.some(({ point: { stage, where } }) => {
      if (stage === 'connection') return false
      const { byKind } = effectiveAt(reach.around(where), 'frontend')
      return !mergesSlashes([...byKind.values()].flat())
    })
    if (!isKept) continue
    for (const { term, wanted } of signedLeaves(placed.condition.term)) {
      if (!wanted || !readsPath(term) || constantOf(term) === undefined) continue
      const said = {
        code: 'AZ027',
        severity: 'warning',
        message: `adjacent slashes are not merged here: \`/${constantOf(term)}\` is not denied`,
        hint: 'remove `mergeSlashes: false`, or list what is allowed in Allow rules instead',
      } as const
      yield { diagnostic: aboutRule(said, placed, term) }
      break
    }
  }
}
