import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineGauge } from '../gauge.ts'
import { defineHistogram } from '../histogram.ts'
import { label } from '../label.ts'
import { MANY_SERIES, REQUEST_SECONDS } from './buckets.ts'
import { ROUTE } from './labels.ts'

// Prompts and resources are not distinguished by name: servers can have any number of URIs.

const TARGET = label('target', 'the MCP server; `none` if no single one was called')
const TOOL = label(
  'tool',
  'the tool of a call (`gen_ai.tool.name`); `other` if its server is not known to have one of that name, `none` for other methods',
)
const TRANSPORT = label('transport', 'transport of the client', ['streamable-http', 'sse'])

export const mcpCalls = defineCounter({
  name: 'portcullis_mcp_calls_total',
  help: 'Requests of MCP clients, counted when they end.',
  labels: [
    ROUTE,
    TARGET,
    TOOL,
    label('method', 'method of the protocol (`mcp.method.name`)', [
      'initialize',
      'server/discover',
      'ping',
      'tools/list',
      'tools/call',
      'prompts/list',
      'prompts/get',
      'resources/list',
      'resources/templates/list',
      'resources/read',
      'resources/subscribe',
      'resources/unsubscribe',
      'completion/complete',
      'logging/setLevel',
      'tasks/list',
      'tasks/get',
      'tasks/result',
      'tasks/update',
      'tasks/cancel',
      'subscriptions/listen',
    ]),
    label('outcome', 'the outcome; `tool-error` is a result that is marked as an error', [
      'success',
      'tool-error',
      'error',
      'denied',
      'unknown',
      'timeout',
      'unreachable',
      'cancelled',
    ]),
  ],
})

export const mcpCallDuration = defineHistogram({
  name: 'portcullis_mcp_call_duration_seconds',
  help: 'Time from a request of an MCP client to the end of its response.',
  labels: [ROUTE, TARGET, TOOL],
  unit: 'seconds',
  bounds: REQUEST_SECONDS,
  maximum: MANY_SERIES,
})

export const mcpSessions = defineCounter({
  name: 'portcullis_mcp_sessions_total',
  help: 'Sessions started by MCP clients, and rejected session IDs.',
  labels: [ROUTE, TRANSPORT, label('outcome', 'the outcome', ['opened', 'refused'])],
})

export const mcpSessionsActive = defineGauge({
  name: 'portcullis_mcp_sessions_active',
  help: 'Open sessions of MCP clients.',
  labels: [ROUTE, TRANSPORT],
  isPlanned: true,
})

export const mcpHiddenItems = defineCounter({
  name: 'portcullis_mcp_hidden_items_total',
  help: 'Items omitted from lists because the client is not allowed to use them.',
  labels: [
    ROUTE,
    TARGET,
    label('kind', 'kind of the item', ['tool', 'prompt', 'resource', 'resource-template']),
    label('reason', 'the reason; `pin`: the tool differs from its pin', ['authorization', 'pin']),
  ],
})

export const mcpTargetUp = defineGauge({
  name: 'portcullis_mcp_target_up',
  help: 'Whether an MCP server responded when it was last called.',
  labels: [TARGET],
  merge: 'min',
  isPlanned: true,
})

export const mcpProcesses = defineGauge({
  name: 'portcullis_mcp_processes',
  help: 'Running processes of MCP servers on stdio.',
  labels: [TARGET],
})

export const mcpProcessExits = defineCounter({
  name: 'portcullis_mcp_process_exits_total',
  help: 'Processes of MCP servers on stdio that ended; one that crashed was replaced.',
  labels: [TARGET, label('outcome', 'how it ended', ['stopped', 'crashed', 'limit'])],
  isPlanned: true,
})

export const MCP: MetricGroup = {
  title: 'MCP',
  metrics: [
    mcpCalls,
    mcpCallDuration,
    mcpSessions,
    mcpSessionsActive,
    mcpHiddenItems,
    mcpTargetUp,
    mcpProcesses,
    mcpProcessExits,
  ],
}
