import { reply } from '../../exchange/reply.ts'
import { compileDecision } from '../authorization-decision.ts'
import type { Authorization } from '../authorization-rules.ts'
import { type Attachments, type Part, type Site, variablesOf } from '../define.ts'

const DENIED = reply(403, 'authorization')

export function compileAuthorization(policies: Attachments<Authorization>, site: Site): Part {
  const decide = compileDecision(policies, site)
  return { step: (exchange) => (decide(variablesOf(exchange)) ? undefined : DENIED) }
}
