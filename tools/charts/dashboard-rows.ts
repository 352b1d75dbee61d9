import { CONTROLLER_ROW } from './controller-row.ts'
import { LLM_ROW } from './llm-row.ts'
import { MCP_ROW } from './mcp-row.ts'
import { quantile, quantiles, type Row, rate } from './panel.ts'

/** Ordered from the figures that operators look at first to those that explain them. */
export const DASHBOARD_ROWS: readonly Row[] = [
  {
    title: 'Traffic',
    panels: [
      {
        title: 'Requests by status',
        description: 'Requests per second, by status class.',
        unit: 'reqps',
        queries: { '{{status}}': `sum by (status) (${rate('portcullis_requests_total')})` },
      },
      {
        title: 'Responses of the gateway itself',
        description: 'Responses that did not come from a backend, by reason.',
        unit: 'reqps',
        queries: {
          '{{reason}}': `sum by (reason) (${rate('portcullis_requests_total{reason!="upstream"}')})`,
        },
      },
      {
        title: 'Requests by route',
        description: 'The ten busiest routes.',
        unit: 'reqps',
        queries: { '{{route}}': `topk(10, sum by (route) (${rate('portcullis_requests_total')}))` },
      },
      {
        title: 'Error rate',
        description: 'Responses with status 5xx as a share of all responses.',
        kind: 'stat',
        unit: 'percentunit',
        queries: {
          errors: `sum(${rate('portcullis_requests_total{status="5xx"}')}) / sum(${rate('portcullis_requests_total')})`,
        },
      },
      {
        title: 'Requests in progress',
        description: 'Requests whose response is not complete, including open streams.',
        queries: { '{{listener}}': 'sum by (listener) (portcullis_requests_active)' },
      },
      {
        title: 'Rejected before routing',
        description: 'Malformed or untrusted requests, by reason.',
        unit: 'reqps',
        queries: {
          '{{refusal}}': `sum by (refusal) (${rate('portcullis_requests_refused_total')})`,
        },
      },
    ],
  },
  {
    title: 'Authorization',
    panels: [
      {
        title: 'Denials by policy and rule',
        description: 'How often each rule denied a request in the selected time range.',
        kind: 'table',
        width: 12,
        queries: {
          denials:
            'topk(20, sum by (policy, rule, action, cause) (increase(portcullis_authorization_decisions_total{verdict="denied"}[$__range])))',
        },
      },
      {
        title: 'Decisions',
        description: 'Decisions per second, by verdict.',
        unit: 'ops',
        width: 12,
        queries: {
          '{{verdict}}': `sum by (verdict) (${rate('portcullis_authorization_decisions_total')})`,
        },
      },
      {
        title: 'Denials by rule',
        description: 'The ten rules that deny the most requests.',
        unit: 'ops',
        queries: {
          '{{policy}} {{rule}}': `topk(10, sum by (policy, rule) (${rate('portcullis_authorization_decisions_total{verdict="denied"}')}))`,
        },
      },
      {
        title: 'Rule errors',
        description:
          'Rules that read something unset, fail or are not boolean, and so do not match. Deny does not fire then, Require denies.',
        unit: 'ops',
        queries: {
          '{{policy}} {{rule}} {{cause}}': `sum by (policy, rule, cause) (${rate('portcullis_authorization_rule_errors_total')})`,
        },
      },
      {
        title: 'Would-be denials of audited rules',
        description: 'Requests that rules in audit mode would deny if they were enforced.',
        unit: 'ops',
        queries: {
          '{{policy}} {{rule}}': `sum by (policy, rule) (${rate('portcullis_authorization_audit_denials_total')})`,
        },
      },
      {
        title: 'Rejected connections',
        description: 'Connections that were closed before any data was proxied, by reason.',
        unit: 'cps',
        queries: {
          '{{reason}}': `sum by (reason) (${rate('portcullis_downstream_connections_rejected_total')})`,
        },
      },
    ],
  },
  {
    title: 'Authentication',
    panels: [
      {
        title: 'Failures',
        description: 'Missing or rejected credentials, by reason.',
        unit: 'ops',
        width: 12,
        queries: {
          '{{method}} {{reason}}': `sum by (method, reason) (${rate('portcullis_authentication_failures_total')})`,
        },
      },
      {
        title: 'Failures by policy',
        description: 'The ten policies that reject the most requests.',
        unit: 'ops',
        width: 12,
        queries: {
          '{{policy}}': `topk(10, sum by (policy) (${rate('portcullis_authentication_failures_total')}))`,
        },
      },
      {
        title: 'Age of key sets',
        description: 'Time since the key set of an issuer was last fetched.',
        unit: 's',
        queries: { '{{provider}}': 'max by (provider) (portcullis_jwks_age_seconds)' },
      },
      {
        title: 'Key set fetches',
        description: 'Fetches of the key sets of issuers, by result.',
        unit: 'ops',
        queries: {
          '{{provider}} {{outcome}}': `sum by (provider, outcome) (${rate('portcullis_jwks_refreshes_total')})`,
        },
      },
      {
        title: 'Token cache hit ratio',
        description: 'Share of tokens whose verification was cached.',
        unit: 'percentunit',
        queries: {
          hits: `sum(${rate('portcullis_token_cache_lookups_total{outcome="hit"}')}) / sum(${rate('portcullis_token_cache_lookups_total')})`,
        },
      },
    ],
  },
  {
    title: 'Latency',
    panels: [
      {
        title: 'Request duration',
        description: 'From the first byte of the request to the last byte of the response.',
        unit: 's',
        queries: quantiles('portcullis_request_duration_seconds'),
      },
      {
        title: 'Added latency',
        description:
          'Request duration without the time spent waiting for the client and the backend.',
        unit: 's',
        queries: quantiles('portcullis_request_overhead_seconds'),
      },
      {
        title: 'Backends',
        description: '95th percentile of the time to the first byte of the response, by backend.',
        unit: 's',
        queries: {
          '{{backend}}': quantile(0.95, 'portcullis_upstream_request_duration_seconds', 'backend'),
        },
      },
    ],
  },
  {
    title: 'Backends',
    panels: [
      {
        title: 'Requests by outcome',
        description: 'Requests to backends, including retries and mirrored requests.',
        unit: 'reqps',
        queries: {
          '{{backend}} {{outcome}}': `sum by (backend, outcome) (${rate('portcullis_upstream_requests_total')})`,
        },
      },
      {
        title: 'Failed connections',
        description: 'Backend connections that could not be opened, by reason.',
        unit: 'cps',
        queries: {
          '{{backend}} {{reason}}': `sum by (backend, reason) (${rate('portcullis_upstream_connection_failures_total')})`,
        },
      },
      {
        title: 'Endpoints',
        description: 'Unhealthy backend endpoints.',
        queries: {
          '{{backend}} {{state}}':
            'max by (backend, state) (portcullis_upstream_endpoints{state!="healthy"})',
        },
      },
      {
        title: 'Retries',
        description: 'Retried requests, by reason.',
        unit: 'reqps',
        queries: {
          '{{backend}} {{reason}}': `sum by (backend, reason) (${rate('portcullis_upstream_retries_total')})`,
        },
      },
      {
        title: 'Rate limits',
        description: 'Requests that rate limits rejected.',
        unit: 'reqps',
        queries: {
          '{{policy}}': `sum by (policy) (${rate('portcullis_rate_limit_decisions_total{outcome="limited"}')})`,
        },
      },
      {
        title: 'Limits reached',
        description: 'Limits of the gateway itself.',
        unit: 'ops',
        queries: { '{{limit}}': `sum by (limit) (${rate('portcullis_limit_hits_total')})` },
      },
    ],
  },
  LLM_ROW,
  MCP_ROW,
  {
    title: 'Configuration',
    panels: [
      {
        title: 'Proxies up to date',
        description:
          '1 if a proxy runs its latest configuration, 0 if it rejected that configuration.',
        kind: 'stat',
        queries: { 'in step': 'min(portcullis_config_synchronized)' },
      },
      {
        title: 'Running configurations',
        description:
          'Proxies by the configuration they run; more than one line is a change under way.',
        queries: { '{{hash}}': 'count by (hash) (portcullis_config_info)' },
      },
      {
        title: 'Changes',
        description: 'Reloads of the configuration, by result.',
        queries: {
          '{{outcome}}':
            'sum by (outcome) (increase(portcullis_config_reloads_total[$__rate_interval]))',
        },
      },
    ],
  },
  CONTROLLER_ROW,
  {
    title: 'Proxies',
    panels: [
      {
        title: 'CPU',
        description: 'Cores in use.',
        queries: { '{{pod}}': `sum by (pod) (${rate('portcullis_process_cpu_seconds_total')})` },
      },
      {
        title: 'Memory',
        description: 'Resident memory of the processes.',
        unit: 'bytes',
        queries: { '{{pod}}': 'sum by (pod) (portcullis_process_resident_memory_bytes)' },
      },
      {
        title: 'Event loop delay',
        description: 'How long requests may have waited for the process.',
        unit: 's',
        queries: {
          '{{pod}} {{statistic}}':
            'max by (pod, statistic) (portcullis_event_loop_delay_seconds{statistic=~"p99|max"})',
        },
      },
      {
        title: 'Connections',
        description: 'Open client connections.',
        queries: {
          '{{protocol}}': 'sum by (protocol) (portcullis_downstream_connections_active)',
        },
      },
      {
        title: 'Failed TLS handshakes',
        description: 'Failed TLS handshakes with clients, by reason.',
        unit: 'cps',
        queries: {
          '{{reason}}': `sum by (reason) (${rate('portcullis_tls_handshake_failures_total')})`,
        },
      },
      {
        title: 'Versions',
        description: 'Proxies by version.',
        queries: { '{{version}}': 'count by (version) (portcullis_build_info)' },
      },
    ],
  },
]
