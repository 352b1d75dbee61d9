import { reply } from '../../exchange/reply.ts'
import type { Step } from '../../exchange/step.ts'
import { compileDecision } from '../authorization-decision.ts'
import type { Authorization } from '../authorization-rules.ts'
import { type Attachments, type Part, type Site, variablesOf } from '../define.ts'

const DENIED = reply(403, 'authorization')

export function compileAuthorization(policies: Attachments<Authorization>, site: Site): Part {
  const decider = compileDecision(policies, site)
  const step: Step = (exchange) => {
    const decision = decider.decide(variablesOf(exchange))
    if (decision === undefined) return undefined
    exchange.decisions = [...exchange.decisions, decision]
    return decision.isEnforced && !decision.isAllowed ? DENIED : undefined
  }
  return { step, decider }
}
