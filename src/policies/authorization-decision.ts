import { compileRules, type Rule, type RuleSet, type Variables } from '../cel/index.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Authorization } from './authorization-rules.ts'
import type { Site } from './define.ts'

export type Decide = (variables: Variables) => boolean

/**
 * Rules of all policies as one set: Deny, then Require, then Allow over the union of all levels.
 * Each level is compiled once for all routes below it, since a gateway may have thousands of
 * rules, and thousands of routes.
 */
export function compileDecision(
  policies: readonly ValidPolicy<Authorization>[],
  site: Site,
): Decide {
  const levels = byLevel(policies).map((level) =>
    site.shared(level, () => compileLevel(level, site)),
  )
  const denies = levels.flatMap(({ Deny }) => Deny ?? [])
  const requires = levels.flatMap(({ Require }) => Require ?? [])
  const allows = levels.flatMap(({ Allow }) => Allow ?? [])
  return (variables) => {
    for (const deny of denies) if (!deny.decide(variables)) return false
    for (const require of requires) if (!require.decide(variables)) return false
    if (allows.length === 0) return true
    for (const allow of allows) if (allow.decide(variables)) return true
    return false
  }
}

type Level = Readonly<Partial<Record<Rule['action'], RuleSet>>>

function byLevel(policies: readonly ValidPolicy<Authorization>[]) {
  const levels: ValidPolicy<Authorization>[][] = []
  for (const policy of policies) {
    const last = levels.at(-1)
    if (last?.[0]?.level === policy.level) last.push(policy)
    else levels.push([policy])
  }
  return levels
}

/** A set of one action alone decides for it alone: whether no Deny, every Require, any Allow. */
function compileLevel(policies: readonly ValidPolicy<Authorization>[], site: Site): Level {
  const level: Partial<Record<Rule['action'], RuleSet>> = {}
  const actions = new Set(policies.flatMap(({ value }) => value.rules.map(({ action }) => action)))
  for (const action of actions) {
    const set = compileRules(rulesOf(policies, action, site))
    if (set.rules.length > 0) level[action] = set
  }
  return level
}

function* rulesOf(
  policies: readonly ValidPolicy<Authorization>[],
  action: Rule['action'],
  site: Site,
): Generator<Rule> {
  for (const policy of policies) {
    for (const rule of policy.value.rules) {
      if (rule.action !== action) continue
      const { field, origin } = rule
      const expression = site.compile(rule.expression, { policy, field, origin, result: 'bool' })
      // Audit is decided and recorded elsewhere; it never enforces.
      if (expression !== undefined && policy.value.mode === 'Enforce') yield { action, expression }
    }
  }
}
