import type { Exchange } from '../exchange/exchange.ts'
import { type GuardRule, guardTextSteps, searchEffort } from '../protocols/llm/index.ts'
import type { GuardMcpText } from '../protocols/mcp/guarded-message.ts'
import type { McpGuards } from '../protocols/mcp/guarded-server.ts'
import { guardsOf, localGuards } from './model-guards.ts'

/** The guards of a request to MCP servers; undefined if there are none. */
export function mcpGuardsFor(exchange: Exchange): McpGuards | undefined {
  if (exchange.guardrails.length === 0) return undefined
  const { request, response } = guardsOf(exchange)
  // A client sends one message; a server sends any number.
  return {
    request: guardBy(localGuards(request), searchEffort()),
    response: guardBy(localGuards(response)),
  }
}

function guardBy(
  rules: readonly GuardRule[],
  effort?: ReturnType<typeof searchEffort>,
): GuardMcpText | undefined {
  if (rules.length === 0) return undefined
  return function* (text) {
    const guarded = yield* guardTextSteps(text, rules, effort)
    return guarded.rejection === undefined
      ? { text: guarded.text }
      : { rejection: guarded.rejection.message }
  }
}
