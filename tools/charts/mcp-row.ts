import { quantile, type Row, rate } from './panel.ts'

export const MCP_ROW: Row = {
  title: 'MCP',
  panels: [
    {
      title: 'Calls by outcome',
      description: 'Requests of MCP per second, by what came of them.',
      unit: 'reqps',
      queries: { '{{outcome}}': `sum by (outcome) (${rate('portcullis_mcp_calls_total')})` },
    },
    {
      title: 'Calls by method',
      description: 'Requests of MCP per second, by their method.',
      unit: 'reqps',
      queries: { '{{method}}': `sum by (method) (${rate('portcullis_mcp_calls_total')})` },
    },
    {
      title: 'Tools',
      description: 'The ten tools that are called most.',
      unit: 'reqps',
      queries: {
        '{{target}} {{tool}}': `topk(10, sum by (target, tool) (${rate('portcullis_mcp_calls_total{method="tools/call"}')}))`,
      },
    },
    {
      title: 'Tools that were denied',
      description: 'Which tools rules kept clients from calling in the chosen time.',
      kind: 'table',
      queries: {
        denials:
          'topk(20, sum by (route, target, tool) (increase(portcullis_mcp_calls_total{method="tools/call", outcome="denied"}[$__range])))',
      },
    },
    {
      title: 'Tools that fail',
      description: 'The ten tools that fail most, and how.',
      unit: 'reqps',
      queries: {
        '{{target}} {{tool}} {{outcome}}': `topk(10, sum by (target, tool, outcome) (${rate('portcullis_mcp_calls_total{method="tools/call", outcome=~"tool-error|error|timeout|unreachable"}')}))`,
      },
    },
    {
      title: 'Duration of calls',
      description: '95 of 100 calls of each server end within this time.',
      unit: 's',
      queries: {
        '{{target}}': quantile(0.95, 'portcullis_mcp_call_duration_seconds', 'target'),
      },
    },
    {
      title: 'Hidden from lists',
      description: 'Items omitted from lists because the client is not allowed to use them.',
      unit: 'ops',
      queries: {
        '{{target}} {{kind}} {{reason}}': `sum by (target, kind, reason) (${rate('portcullis_mcp_hidden_items_total')})`,
      },
    },
    {
      title: 'Sessions',
      description: 'Sessions that proxies hold open.',
      queries: { '{{route}}': 'sum by (route) (portcullis_mcp_sessions_active)' },
    },
    {
      title: 'New sessions',
      description: 'Sessions that were begun, taken over from another replica, or rejected.',
      unit: 'ops',
      queries: { '{{outcome}}': `sum by (outcome) (${rate('portcullis_mcp_sessions_total')})` },
    },
    {
      title: 'Servers',
      description: 'Whether servers answer: 0 where one of the proxies cannot reach it.',
      width: 12,
      queries: { '{{target}}': 'min by (target) (portcullis_mcp_target_up)' },
    },
    {
      title: 'Processes that ended',
      description: 'Processes of servers on stdio, and how they ended.',
      width: 12,
      queries: {
        '{{target}} {{outcome}}':
          'sum by (target, outcome) (increase(portcullis_mcp_process_exits_total[$__rate_interval]))',
      },
    },
  ],
}
