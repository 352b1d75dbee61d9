import type { Step } from '../exchange/step.ts'
import { runSteps } from '../exchange/step.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { isConditional } from './conditional.ts'
import { type Part, type Policy, type Site, variablesOf } from './define.ts'
import { originalOf, standIn } from './stand-in.ts'

/**
 * The same policy, whose value may also be conditional. `unless`: whether an entry applies unless
 * its condition is definitely false, or only where it is definitely true. What keeps somebody out
 * applies in doubt: a client could make a condition fail by leaving out what it reads.
 */
export function conditionally(policy: Policy, applies: 'unless-false' | 'if-true'): Policy {
  return {
    ...policy,
    compile(policies, site) {
      if (!policies.some(({ value }) => isConditional(value))) return policy.compile(policies, site)
      const parts = policies.map((one) => compileOne(policy, one, site, applies))
      const steps = parts.flatMap(({ step }) => step ?? [])
      return { step: (exchange) => runSteps(steps, exchange) }
    },
  }
}

function compileOne(
  policy: Policy,
  one: ValidPolicy,
  site: Site,
  applies: 'unless-false' | 'if-true',
): Part {
  if (!isConditional(one.value)) return policy.compile([one], site)
  const result = applies === 'unless-false' ? 'rule' : 'bool'
  const entries = one.value.conditional.map(({ condition, value }, index) => {
    const field = `conditional[${index}]`
    const place = { policy: one, field: `${field}.condition`, result } as const
    const part = policy.compile([standIn(one, value)], within(site, one, field))
    if (condition === undefined) return { part, evaluate: () => true }
    // One that does not compile makes the whole policy deny.
    return { part, evaluate: site.compile(condition, place)?.evaluate() ?? (() => undefined) }
  })
  const step: Step = (exchange) => {
    const variables = variablesOf(exchange)
    for (const { part, evaluate } of entries) {
      const value = evaluate(variables)
      if (value === true || (applies === 'unless-false' && value !== false)) {
        return part.step?.(exchange)
      }
    }
    return undefined
  }
  return { step }
}

/** What an entry keeps, sees and says is of the policy that it is an entry of. */
function within(site: Site, policy: ValidPolicy, field: string): Site {
  const at = (inner: string) => (inner.startsWith('[') ? `${field}${inner}` : `${field}.${inner}`)
  return {
    now: site.now,
    scrutiny: site.scrutiny,
    world: site.world,
    compile: (text, place) => site.compile(text, { ...place, policy, field: at(place.field) }),
    compileRule: (text, place) =>
      site.compileRule(text, { ...place, policy, field: at(place.field) }),
    scopeOf: (one) => site.scopeOf(originalOf(one)),
    shared: (_, make) => make(),
    kept: (_, make, part = '') => site.kept(policy, make, `${field} ${part}`),
    report: (diagnostic) => site.report(diagnostic),
    connect: (target, _, version) => site.connect(target, policy, version),
  }
}
