import type { Decider } from '../../exchange/decision.ts'
import { compileDecision } from '../authorization-decision.ts'
import type { Authorization } from '../authorization-rules.ts'
import type { Attachments, CompileContext } from '../define.ts'

/** The same set, evaluation order and record as for other rules; each rule may read `mcp`. */
export function compileMcpAuthorization(
  policies: Attachments<Authorization>,
  context: CompileContext,
): Decider {
  return compileDecision(policies, context, 'mcp')
}
