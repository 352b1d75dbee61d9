import type { Exchange } from '../exchange/exchange.ts'
import { runSteps } from '../exchange/step.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { isConditional } from './conditional.ts'
import { type Applies, type CompileContext, type Part, type Policy, variablesOf } from './define.ts'
import { originalOf, standIn } from './stand-in.ts'

/** The same policy, with support for conditional values if the policy allows them. */
export function conditionally(policy: Policy): Policy {
  const { conditional: applies } = policy
  if (applies === undefined) return policy
  return {
    ...policy,
    compile(policies, context) {
      if (!policies.some(({ value }) => isConditional(value)))
        return policy.compile(policies, context)
      const parts = policies.map((one) => compileOne(policy, one, context, applies))
      const steps = parts.flatMap(({ step }) => step ?? [])
      const meters = parts.flatMap(({ meter }) => meter ?? [])
      return {
        step: (exchange) => runSteps(steps, exchange),
        meter: (exchange) => {
          for (const meter of meters) meter(exchange)
        },
      }
    },
  }
}

function compileOne(
  policy: Policy,
  one: ValidPolicy,
  context: CompileContext,
  applies: Applies,
): Part {
  if (!isConditional(one.value)) return policy.compile([one], context)
  const result = applies === 'unless-false' ? 'rule' : 'bool'
  const entries = one.value.conditional.map(({ condition, value }, index) => {
    const field = `conditional[${index}]`
    const place = { policy: one, field: `${field}.condition`, result } as const
    const part = policy.compile([standIn(one, value)], within(context, one, field))
    if (condition === undefined) return { part, evaluate: () => true }
    // An entry that does not compile makes the whole policy deny.
    return { part, evaluate: context.compile(condition, place)?.evaluate() ?? (() => undefined) }
  })
  const applying = (exchange: Exchange): Part | undefined => {
    const variables = variablesOf(exchange)
    const found = entries.find(({ evaluate }) => {
      const value = evaluate(variables)
      return value === true || (applies === 'unless-false' && value !== false)
    })
    return found?.part
  }
  return {
    step: (exchange) => applying(exchange)?.step?.(exchange),
    meter: (exchange) => applying(exchange)?.meter?.(exchange),
  }
}

/** A context in which the state, scope and diagnostics of an entry belong to its policy. */
function within(context: CompileContext, policy: ValidPolicy, field: string): CompileContext {
  const at = (inner: string) => (inner.startsWith('[') ? `${field}${inner}` : `${field}.${inner}`)
  return {
    now: context.now,
    sampler: context.sampler,
    policyDeps: context.policyDeps,
    compile: (text, place) => context.compile(text, { ...place, policy, field: at(place.field) }),
    compileRule: (text, place) =>
      context.compileRule(text, { ...place, policy, field: at(place.field) }),
    scopeOf: (one) => context.scopeOf(originalOf(one)),
    shared: (_, make) => make(),
    kept: (_, make, part = '') => context.kept(policy, make, `${field} ${part}`),
    report: (diagnostic) => context.report(diagnostic),
    connect: (target, _, version) => context.connect(target, policy, version),
  }
}
