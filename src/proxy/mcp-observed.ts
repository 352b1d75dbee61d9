import type { McpRecord } from '../exchange/mcp-record.ts'
import {
  mcpCallDuration,
  mcpCalls,
  mcpHiddenItems,
  mcpSessions,
} from '../telemetry/definitions/mcp.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { AccessRecord } from './access-record.ts'
import type { RequestState } from './request-state.ts'

/* Metrics and log fields of MCP messages, in addition to those of all requests. */

export function countMcp(
  metrics: Metrics,
  state: RequestState,
  record: McpRecord,
  seconds: number,
): void {
  const route = state.route?.name || 'none'
  const { method, target, transport, session, hidden } = record
  if (session !== undefined) {
    metrics.counter(mcpSessions).of({ route }).at(transport, session).inc()
  }
  for (const { target: whose, kind, reason, count } of hidden) {
    metrics.counter(mcpHiddenItems).of({ route, target: whose }).at(kind, reason).inc(count)
  }
  for (const each of record.batch) countMcp(metrics, state, each, seconds)
  if (method === '') return
  const outcome = outcomeOf(state, record)
  const labels = { route, target, tool: toolOf(record, outcome) }
  metrics
    .counter(mcpCalls)
    .of(labels)
    .at(method as 'tools/call', outcome)
    .inc()
  metrics.histogram(mcpCallDuration).of(labels).at().observe(seconds)
}

function outcomeOf({ exchange }: RequestState, { outcome }: McpRecord) {
  return outcome ?? (exchange.reason === 'client-gone' ? 'cancelled' : 'error')
}

/** Names that clients make up share one label. */
function toolOf({ tool, isListed }: McpRecord, outcome: string): string {
  return tool === 'none' || isListed || outcome === 'success' ? tool : 'other'
}

/** The fields of the access log. */
export function mcpFields(state: RequestState): AccessRecord {
  const record = state.exchange.mcpRecord
  if (record === undefined) return NO_FIELDS
  if (record.batch.length > 0) {
    const methods = record.batch.map(({ method }) => method).filter((method) => method !== '')
    return { 'mcp.method.name': methods.join(',') || undefined }
  }
  if (record.method === '') return NO_FIELDS
  const { method, target, tool } = record
  return {
    'mcp.method.name': method,
    'mcp.target': target === 'none' ? undefined : target,
    'gen_ai.tool.name': tool === 'none' ? undefined : tool,
    'mcp.outcome': outcomeOf(state, record),
  }
}

const NO_FIELDS: AccessRecord = {}
