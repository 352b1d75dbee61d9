import { compileRules, type Rule, type RuleSet, type Variables } from '../cel/index.ts'
import type { Exchange } from '../exchange/exchange.ts'
import type { Scope } from '../exchange/identity.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Authorization } from './authorization-rules.ts'
import type { Site } from './define.ts'

export type Decide = (variables: Variables) => boolean

/**
 * Rules of all policies as one set: Deny, then Require, then Allow over the union of all levels.
 * Each level is compiled once for all routes below it, since a gateway may have thousands of
 * rules, and thousands of routes. Policies of a level that see others of who asks are sets of
 * their own, each decided from its own scope; usually there is one scope, and nothing to change.
 */
export function compileDecision(
  policies: readonly ValidPolicy<Authorization>[],
  site: Site,
): Decide {
  const sets = byLevel(policies, site).flatMap(({ scope, members }) => {
    const level = site.shared(members, () => compileLevel(members, site))
    return Object.entries(level).map(([action, rules]) => ({ action, rules, scope }))
  })
  const of = (wanted: Rule['action']) => sets.filter(({ action }) => action === wanted)
  const denies = of('Deny')
  const requires = of('Require')
  const allows = of('Allow')
  return (variables) => {
    for (const deny of denies) if (!decide(deny, variables)) return false
    for (const require of requires) if (!decide(require, variables)) return false
    if (allows.length === 0) return true
    for (const allow of allows) if (decide(allow, variables)) return true
    return false
  }
}

/** Rules of one action that see who asks alike; undefined: nobody is ever identified here. */
interface ScopedRules {
  readonly rules: RuleSet
  readonly scope: Scope | undefined
}

function decide({ rules, scope }: ScopedRules, variables: Variables): boolean {
  if (scope !== undefined) (variables as unknown as Exchange).enter(scope)
  return rules.decide(variables)
}

type Level = Readonly<Partial<Record<Rule['action'], RuleSet>>>

interface Members {
  readonly level: ValidPolicy['level']
  readonly scope: Scope | undefined
  readonly members: ValidPolicy<Authorization>[]
}

function byLevel(policies: readonly ValidPolicy<Authorization>[], site: Site): readonly Members[] {
  const all: Members[] = []
  for (const policy of policies) {
    const { level } = policy
    const scope = site.scopeOf(policy)
    const known = all.find((one) => one.level === level && one.scope === scope)
    if (known === undefined) all.push({ level, scope, members: [policy] })
    else known.members.push(policy)
  }
  return all
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
      const expression = site.compileRule(rule.expression, {
        policy,
        field,
        origin,
        result: 'bool',
      })
      // Audit is decided and recorded elsewhere; it never enforces.
      if (expression !== undefined && policy.value.mode === 'Enforce') yield { action, expression }
    }
  }
}
