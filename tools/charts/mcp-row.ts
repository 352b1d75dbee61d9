import { quantile, type Row, rate } from './panel.ts'

export const MCP_ROW: Row = {
  title: 'MCP',
  panels: [
    {
      title: 'Calls by outcome',
      description: 'MCP requests per second, by outcome.',
      unit: 'reqps',
      queries: { '{{outcome}}': `sum by (outcome) (${rate('portcullis_mcp_calls_total')})` },
    },
    {
      title: 'Calls by method',
      description: 'MCP requests per second, by method.',
      unit: 'reqps',
      queries: { '{{method}}': `sum by (method) (${rate('portcullis_mcp_calls_total')})` },
    },
    {
      title: 'Tools',
      description: 'The ten most frequently called tools.',
      unit: 'reqps',
      queries: {
        '{{target}} {{tool}}': `topk(10, sum by (target, tool) (${rate('portcullis_mcp_calls_total{method="tools/call"}')}))`,
      },
    },
    {
      title: 'Denied tools',
      description: 'Tool calls that rules denied in the selected time range.',
      kind: 'table',
      queries: {
        denials:
          'topk(20, sum by (route, target, tool) (increase(portcullis_mcp_calls_total{method="tools/call", outcome="denied"}[$__range])))',
      },
    },
    {
      title: 'Failing tools',
      description: 'The ten tools that fail most often, by error.',
      unit: 'reqps',
      queries: {
        '{{target}} {{tool}} {{outcome}}': `topk(10, sum by (target, tool, outcome) (${rate('portcullis_mcp_calls_total{method="tools/call", outcome=~"tool-error|error|timeout|unreachable"}')}))`,
      },
    },
    {
      title: 'Call duration',
      description: '95th percentile of the call duration, by server.',
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
      description: 'Open sessions.',
      queries: { '{{route}}': 'sum by (route) (portcullis_mcp_sessions_active)' },
    },
    {
      title: 'New sessions',
      description: 'Sessions that were created, taken over from another replica, or rejected.',
      unit: 'ops',
      queries: { '{{outcome}}': `sum by (outcome) (${rate('portcullis_mcp_sessions_total')})` },
    },
    {
      title: 'Servers',
      description: '1 if all proxies can reach the server, 0 if one cannot.',
      width: 12,
      queries: { '{{target}}': 'min by (target) (portcullis_mcp_target_up)' },
    },
    {
      title: 'Exited processes',
      description: 'Exited processes of stdio servers, by exit reason.',
      width: 12,
      queries: {
        '{{target}} {{outcome}}':
          'sum by (target, outcome) (increase(portcullis_mcp_process_exits_total[$__rate_interval]))',
      },
    },
  ],
}
