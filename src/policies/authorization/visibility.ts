import { type Possibility, possibilityOf } from '../../cel/rules/possibility.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { Scope } from '../../exchange/identity.ts'
import type { Authorization } from '../authorization-rules.ts'
import { type Attachments, type CompileContext, variablesOf } from '../define.ts'

/** Attributes of calls to models that are unknown for a client that requests the list of models. */
const UNKNOWN = [
  ['request', 'method'],
  ['request', 'path'],
  ['request', 'pathAndQuery'],
  ['request', 'uri'],
  ['request', 'query'],
  ['request', 'body'],
  ['llm', 'params'],
  ['llm', 'prompt'],
  ['llm', 'tools'],
  ['llm', 'streaming'],
  ['llm', 'inputTokens'],
] as const

/** Whether any call to the model that `llm.requestModel` names could be allowed. */
export type ModelVisibility = (exchange: Exchange) => boolean

interface VisibilityRule extends Possibility {
  readonly action: 'Allow' | 'Require' | 'Deny'
  readonly scope: Scope | undefined
}

/** Rules in audit mode hide nothing. */
export function compileModelVisibility(
  policies: Attachments<Authorization>,
  context: CompileContext,
): ModelVisibility {
  const rules = policies.flatMap((policy) => {
    if (policy.value.mode === 'Audit') return []
    const scope = context.scopeOf(policy)
    return policy.value.rules.flatMap(({ action, expression: text, field }) => {
      const expression = context.compileRule(text, { policy, field, result: 'rule' })
      if (expression === undefined) return []
      return [{ action, scope, ...possibilityOf(expression, UNKNOWN) }]
    })
  })
  const of = (action: VisibilityRule['action']) => rules.filter((rule) => rule.action === action)
  const [denies, requires, allows] = [of('Deny'), of('Require'), of('Allow')]
  return (exchange) => {
    const holds = (rule: VisibilityRule, question: keyof Possibility) => {
      exchange.enter(rule.scope)
      return rule[question](variablesOf(exchange))
    }
    for (const deny of denies) if (holds(deny, 'mustBeTrue')) return false
    for (const require of requires) if (!holds(require, 'mayBeTrue')) return false
    return allows.length === 0 || allows.some((allow) => holds(allow, 'mayBeTrue'))
  }
}
