import { CONTROLLER_ROW } from './controller-row.ts'
import { LLM_ROW } from './llm-row.ts'
import { MCP_ROW } from './mcp-row.ts'
import { quantile, quantiles, type Row, rate } from './panel.ts'

/** From what a reader wants to know first to what explains it. */
export const DASHBOARD_ROWS: readonly Row[] = [
  {
    title: 'Traffic',
    panels: [
      {
        title: 'Requests by status',
        description: 'Requests per second, by the class of their status.',
        unit: 'reqps',
        queries: { '{{status}}': `sum by (status) (${rate('portcullis_requests_total')})` },
      },
      {
        title: 'Answers that are not the backend’s',
        description: 'What the gateway answered by itself, and why.',
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
        title: 'Share of errors',
        description: 'Answers with 5xx, as a share of all.',
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
        title: 'Refused before any route',
        description: 'Requests that were not understood or not trusted.',
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
        description: 'Which rule denied how often in the chosen time.',
        kind: 'table',
        width: 12,
        queries: {
          denials:
            'topk(20, sum by (policy, rule, action, cause) (increase(portcullis_authorization_decisions_total{verdict="denied"}[$__range])))',
        },
      },
      {
        title: 'Decisions',
        description: 'Decisions per second, by what they came to.',
        unit: 'ops',
        width: 12,
        queries: {
          '{{verdict}}': `sum by (verdict) (${rate('portcullis_authorization_decisions_total')})`,
        },
      },
      {
        title: 'Denials by rule',
        description: 'The ten rules that deny most.',
        unit: 'ops',
        queries: {
          '{{policy}} {{rule}}': `topk(10, sum by (policy, rule) (${rate('portcullis_authorization_decisions_total{verdict="denied"}')}))`,
        },
      },
      {
        title: 'Rules that come to nothing',
        description:
          'Rules that read something unset, fail or are not boolean, and so do not match. Deny does not fire then, Require denies.',
        unit: 'ops',
        queries: {
          '{{policy}} {{rule}} {{cause}}': `sum by (policy, rule, cause) (${rate('portcullis_authorization_rule_errors_total')})`,
        },
      },
      {
        title: 'What audited rules would deny',
        description: 'Denials by rules in audit mode, were they enforced.',
        unit: 'ops',
        queries: {
          '{{policy}} {{rule}}': `sum by (policy, rule) (${rate('portcullis_authorization_audit_denials_total')})`,
        },
      },
      {
        title: 'Connections refused',
        description: 'Connections that were closed before any data was proxied, and why.',
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
        description: 'Credentials that were missing or rejected, and why.',
        unit: 'ops',
        width: 12,
        queries: {
          '{{method}} {{reason}}': `sum by (method, reason) (${rate('portcullis_authentication_failures_total')})`,
        },
      },
      {
        title: 'Failures by policy',
        description: 'The ten policies that refuse most.',
        unit: 'ops',
        width: 12,
        queries: {
          '{{policy}}': `topk(10, sum by (policy) (${rate('portcullis_authentication_failures_total')}))`,
        },
      },
      {
        title: 'Age of keys',
        description: 'Time since the key set of an issuer was last fetched.',
        unit: 's',
        queries: { '{{provider}}': 'max by (provider) (portcullis_jwks_age_seconds)' },
      },
      {
        title: 'Fetches of keys',
        description: 'What came of fetching the keys of issuers.',
        unit: 'ops',
        queries: {
          '{{provider}} {{outcome}}': `sum by (provider, outcome) (${rate('portcullis_jwks_refreshes_total')})`,
        },
      },
      {
        title: 'Verified tokens that were remembered',
        description: 'Share of tokens that did not have to be verified again.',
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
        title: 'Whole requests',
        description: 'From the first byte of a request to the last of its answer.',
        unit: 's',
        queries: quantiles('portcullis_request_duration_seconds'),
      },
      {
        title: 'What the gateway adds',
        description: 'The duration without waiting for client and backend.',
        unit: 's',
        queries: quantiles('portcullis_request_overhead_seconds'),
      },
      {
        title: 'Backends',
        description: '95 of 100 answers of each backend begin within this time.',
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
        description: 'Requests to backends, retries and copies included.',
        unit: 'reqps',
        queries: {
          '{{backend}} {{outcome}}': `sum by (backend, outcome) (${rate('portcullis_upstream_requests_total')})`,
        },
      },
      {
        title: 'Connections that failed',
        description: 'Backend connections that could not be opened, and why.',
        unit: 'cps',
        queries: {
          '{{backend}} {{reason}}': `sum by (backend, reason) (${rate('portcullis_upstream_connection_failures_total')})`,
        },
      },
      {
        title: 'Endpoints',
        description: 'Endpoints of backends that are not healthy.',
        queries: {
          '{{backend}} {{state}}':
            'max by (backend, state) (portcullis_upstream_endpoints{state!="healthy"})',
        },
      },
      {
        title: 'Retries',
        description: 'Requests that were sent once more, and why.',
        unit: 'reqps',
        queries: {
          '{{backend}} {{reason}}': `sum by (backend, reason) (${rate('portcullis_upstream_retries_total')})`,
        },
      },
      {
        title: 'Rate limits',
        description: 'What rate limits refused.',
        unit: 'reqps',
        queries: {
          '{{policy}}': `sum by (policy) (${rate('portcullis_rate_limit_decisions_total{outcome="limited"}')})`,
        },
      },
      {
        title: 'Limits that were reached',
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
        title: 'Proxies in step',
        description: 'Whether the newest configuration runs everywhere: 0 where one was rejected.',
        kind: 'stat',
        queries: { 'in step': 'min(portcullis_config_synchronized)' },
      },
      {
        title: 'Configurations that run',
        description:
          'Proxies by the configuration they run; more than one line is a change under way.',
        queries: { '{{hash}}': 'count by (hash) (portcullis_config_info)' },
      },
      {
        title: 'Changes',
        description: 'Configurations that were read after a change.',
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
        description: 'Memory that processes occupy.',
        unit: 'bytes',
        queries: { '{{pod}}': 'sum by (pod) (portcullis_process_resident_memory_bytes)' },
      },
      {
        title: 'Delay of the event loop',
        description: 'What a request may have waited for the process.',
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
        description: 'Failed TLS handshakes with clients, and why.',
        unit: 'cps',
        queries: {
          '{{reason}}': `sum by (reason) (${rate('portcullis_tls_handshake_failures_total')})`,
        },
      },
      {
        title: 'Versions',
        description: 'Proxies by their version.',
        queries: { '{{version}}': 'count by (version) (portcullis_build_info)' },
      },
    ],
  },
]
