import type { Decision } from '../../exchange/decision.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { Step } from '../../exchange/step.ts'
import { compileDecision } from '../authorization-decision.ts'
import type { Authorization } from '../authorization-rules.ts'
import { type Attachments, type CompileContext, type Part, variablesOf } from '../define.ts'

const DENIED = reply(403, 'authorization')

/** The log names the rule; the client never learns it. */
function denied({ rule, cause }: Decision): Reply {
  const by = rule === undefined ? '' : `${rule.policy} ${rule.kind}[${rule.index}] `
  return { ...DENIED, detail: `${by}${cause}` }
}

export function compileAuthorization(
  policies: Attachments<Authorization>,
  context: CompileContext,
): Part {
  const decider = compileDecision(policies, context)
  const step: Step = (exchange) => {
    const decision = decider.decide(variablesOf(exchange))
    if (decision === undefined) return undefined
    exchange.decisions = [...exchange.decisions, decision]
    return decision.isEnforced && !decision.isAllowed ? denied(decision) : undefined
  }
  return { step, decider }
}
