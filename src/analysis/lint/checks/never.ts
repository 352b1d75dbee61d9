import { IDENTIFYING } from '../../../reach/kinds.ts'
import type { PlacedRule } from '../../placed-rule.ts'
import { Reasoning } from '../../reasoning.ts'
import { readsCall, readsModel } from '../../request-reads.ts'
import type { Check } from '../check.ts'
import { aboutRule, type Finding, isClosedIfNever, type Said } from '../finding.ts'
import { listed, placeName } from '../place.ts'
import type { RuleUse, SurveyedPoint } from '../survey.ts'
import { impossibleIn } from './impossible.ts'

/** Rules that no request can satisfy, and why: AZ001, AZ004, and AZ010 for all other reasons. */
export const neverMatching: Check = function* ({ rules }) {
  for (const use of rules) {
    const isReported = impossibleIn(use.placed)?.diagnostic.severity === 'error'
    const found = unset(use) ?? (isReported ? undefined : contradiction(use))
    if (found !== undefined) yield found
  }
}

/** AZ001 and AZ004 only: attributes that are never set where a rule reads them. */
export const unsetAttributes: Check = function* ({ rules }) {
  for (const use of rules) {
    const found = unset(use)
    if (found !== undefined) yield found
  }
}

function unset(use: RuleUse): Finding | undefined {
  const reads = new Set(use.placed.reads.map(({ variable }) => variable))
  const identity = Object.keys(AUTHENTICATIONS).filter((name) => reads.has(name))
  return withoutIdentity(use, identity) ?? withoutServerName(use)
}

/** Whether it is proven that no request satisfies the rule at the point. */
export function isNever(placed: PlacedRule, reasoning: Reasoning): boolean {
  return reasoning.isImpossible(reasoning.matches(placed))
}

function isNeverAt({ placed, reasoning }: SurveyedPoint): boolean {
  return isNever(placed, reasoning)
}

/** The kind of policy that sets each variable, among kinds that set only one variable. */
export const AUTHENTICATIONS: Readonly<Record<string, string>> = Object.fromEntries(
  [...IDENTIFYING]
    .toReversed()
    .flatMap(([kind, [variable, ...others]]) =>
      variable === undefined || others.length > 0 ? [] : [[variable, kind]],
    ),
)

function withoutIdentity(use: RuleUse, variables: readonly string[]): Finding | undefined {
  for (const variable of variables) {
    const without = use.at.filter(({ placed }) => {
      return placed.condition.names?.get(variable)?.endsWith('#none') === true
    })
    if (without.length === 0) continue
    const isNeverTrue = without.every(isNeverAt)
    const isEverywhere = without.length === use.at.length
    const kind = AUTHENTICATIONS[variable] as string
    const places = listed(without.map(({ point }) => placeName(point)))
    const where = isEverywhere ? 'here' : `at ${places}`
    const hint =
      `add \`${kind}\` to the same policy, or attach it at an enclosing level; another policy ` +
      'at the same level does not count'
    const effect = isNeverTrue
      ? `this rule never matches${effectOf(use, isEverywhere)}`
      : 'this part is never true'
    const message = `\`${variable}\` is never set ${where}: ${effect}`
    const severity = isNeverTrue && isEverywhere ? 'error' : 'warning'
    return finding({ code: 'AZ001', severity, message, hint }, use, variable)
  }
  return undefined
}

function withoutServerName(use: RuleUse): Finding | undefined {
  const read = use.placed.reads.find(({ path }) => path === 'destination.hostname')
  if (read === undefined) return undefined
  const without = use.at.filter(
    (seen) => seen.point.facts.has('destination.hostname') && isNeverAt(seen) && isNamed(seen),
  )
  if (without.length === 0) return undefined
  const isEverywhere = without.length === use.at.length
  const places = listed(
    without.map(({ point: { where } }) => `listener ${where.gateway.name}/${where.listener.name}`),
  )
  return finding(
    {
      code: 'AZ004',
      severity: isEverywhere ? 'error' : 'warning',
      message:
        `\`destination.hostname\` is always unset on ${places}, which ` +
        `does not have protocol TLS: this rule never matches there${effectOf(use, true)}`,
      hint: 'compare `request.host` in a traffic rule, or set `protocol: TLS` on the listener',
    },
    use,
    'destination.hostname',
  )
}

/** Whether only the missing server name keeps the rule from matching. */
function isNamed({ point, placed }: SurveyedPoint): boolean {
  const facts = new Map(point.facts)
  facts.delete('destination.hostname')
  const named = new Reasoning({ stage: point.stage, rules: [placed], facts })
  return !named.isImpossible(named.matches(placed))
}

function contradiction(use: RuleUse): Finding | undefined {
  if (use.placed.condition.term.kind === 'constant') return undefined
  if (use.at.every(isNeverAt)) {
    return finding(
      {
        code: 'AZ010',
        severity: 'warning',
        message: `no ${subjectOf(use)} can satisfy this rule${effectOf(use, true)}`,
        hint: 'its parts contradict each other, or require something that no request has',
      },
      use,
    )
  }
  const isAlways = use.at.every(({ placed, reasoning }) =>
    reasoning.isImpossible(reasoning.missed(placed)),
  )
  if (!isAlways) return undefined
  return finding(
    {
      code: 'AZ010',
      severity: 'warning',
      message: `every ${subjectOf(use)} satisfies this rule`,
      hint: 'the rule does not distinguish requests: compare an attribute of the request',
    },
    use,
  )
}

function effectOf({ placed }: RuleUse, isEverywhere: boolean): string {
  if (!isEverywhere || !placed.isEnforced) return ''
  // By reading the model, a rule of a provider denies requests that name none, whatever its result.
  if (placed.rule.action !== 'Require' && readsModel({ rules: [placed] })) return ''
  const subjects = `${subjectOf({ placed })}s`
  switch (placed.rule.action) {
    case 'Require':
      return `, so all ${subjects} are denied`
    case 'Deny':
      return `, so it denies no ${subjects}`
    case 'Allow':
      return `, so it admits no ${subjects}`
  }
}

/** Rules about tools, prompts and resources say nothing about messages that name none. */
function subjectOf({ placed }: Pick<RuleUse, 'placed'>): string {
  return readsCall({ rules: [placed] }) ? 'call' : 'request'
}

function finding(said: Said, { placed }: RuleUse, part?: string): Finding {
  const start = part === undefined ? -1 : placed.rule.expression.indexOf(part)
  const span = start < 0 ? undefined : { start, end: start + (part as string).length }
  const isClosed = said.severity === 'error' && isClosedIfNever(placed)
  return { diagnostic: aboutRule(said, placed, span), isClosed }
}
