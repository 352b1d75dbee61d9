import { excess, type Possibility, possibilityOf } from '../../cel/rules/possibility.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { Scope } from '../../exchange/identity.ts'
import type { Authorization } from '../authorization-rules.ts'
import { type Attachments, type CompileContext, variablesOf } from '../define.ts'

/**
 * What is unknown about a message: `arguments`, in a list of tools; `part`, in a message that names
 * no tool, prompt or resource.
 */
export type Unknown = 'nothing' | 'arguments' | 'part'

/** Whether the rules may still allow the message. */
export type McpVisibility = (exchange: Exchange, unknown: Unknown) => boolean

const UNKNOWN = {
  nothing: [],
  arguments: [['mcp', 'tool', 'arguments']],
  part: [
    ['mcp', 'tool'],
    ['mcp', 'prompt'],
    ['mcp', 'resource'],
  ],
} as const

interface VisibilityRule extends Readonly<Record<Unknown, Possibility>> {
  readonly action: 'Allow' | 'Require' | 'Deny'
  readonly scope: Scope | undefined
}

/**
 * Rules in audit mode hide nothing, and neither do rules that a token with more scopes would pass.
 */
export function compileVisibility(
  policies: Attachments<Authorization>,
  context: CompileContext,
): McpVisibility {
  const rules = policies.flatMap((policy) => {
    if (policy.value.mode === 'Audit') return []
    const scope = context.scopeOf(policy)
    return policy.value.rules.flatMap(({ action, expression: text, field, scopes }) => {
      // A client must see items for which it can request more scopes.
      if (scopes !== undefined) return []
      const place = { policy, field, stage: 'mcp', result: 'rule' } as const
      const expression = context.compileRule(text, place)
      if (expression === undefined) return []
      const rule: VisibilityRule = {
        action,
        scope,
        nothing: possibilityOf(expression, UNKNOWN.nothing),
        arguments: possibilityOf(expression, UNKNOWN.arguments),
        part: possibilityOf(expression, UNKNOWN.part),
      }
      return [rule]
    })
  })
  const of = (action: VisibilityRule['action']) => rules.filter((rule) => rule.action === action)
  const [denies, requires, allows] = [of('Deny'), of('Require'), of('Allow')]
  return (exchange, unknown) => {
    const holds = (rule: VisibilityRule, question: keyof Possibility) => {
      exchange.enter(rule.scope)
      return rule[unknown][question](variablesOf(exchange))
    }
    // If rules exceed the cost limit of a request, items that they can no longer evaluate are
    // hidden.
    excess.wasMet = false
    for (const deny of denies) if (holds(deny, 'mustBeTrue') || excess.wasMet) return false
    for (const require of requires) if (!holds(require, 'mayBeTrue')) return false
    return allows.length === 0 || allows.some((allow) => holds(allow, 'mayBeTrue'))
  }
}
