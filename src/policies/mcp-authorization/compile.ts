import type { Decider } from '../../exchange/decision.ts'
import { compileDecision } from '../authorization-decision.ts'
import type { Authorization } from '../authorization-rules.ts'
import type { Attachments, CompileContext } from '../define.ts'

/** The same set, order and record as of other rules, of which each may read `mcp`. */
export function compileMcpAuthorization(
  policies: Attachments<Authorization>,
  context: CompileContext,
): Decider {
  return compileDecision(policies, context, 'mcp')
}
