import { quantile, type Row, rate } from './panel.ts'

export const LLM_ROW: Row = {
  title: 'LLM',
  panels: [
    {
      title: 'Cost',
      description:
        'Cost of model calls in the selected time range, at the rates of the model catalog.',
      kind: 'stat',
      unit: 'currencyUSD',
      queries: { cost: 'sum(increase(portcullis_llm_cost_usd_total[$__range]))' },
    },
    {
      title: 'Cost by model',
      description: 'The twenty most expensive models in the selected time range.',
      kind: 'table',
      unit: 'currencyUSD',
      queries: {
        cost: 'topk(20, sum by (provider, model) (increase(portcullis_llm_cost_usd_total[$__range])))',
      },
    },
    {
      title: 'Cost per hour',
      description: 'The ten most expensive routes, at the current rate.',
      unit: 'currencyUSD',
      queries: {
        '{{route}}': `topk(10, 3600 * sum by (route) (${rate('portcullis_llm_cost_usd_total')}))`,
      },
    },
    {
      title: 'Tokens',
      description: 'Input and output tokens per second.',
      queries: {
        '{{direction}}': `sum by (direction) (${rate('portcullis_llm_tokens_total')})`,
      },
    },
    {
      title: 'Tokens by model',
      description: 'The ten models that use the most tokens per second.',
      queries: {
        '{{provider}} {{model}}': `topk(10, sum by (provider, model) (${rate('portcullis_llm_tokens_total')}))`,
      },
    },
    {
      title: 'Tokens from the prompt cache',
      description: 'Share of input tokens that came from the provider’s prompt cache.',
      unit: 'percentunit',
      queries: {
        '{{provider}}': `sum by (provider) (${rate('portcullis_llm_tokens_total{direction="input", cache="read"}')}) / sum by (provider) (${rate('portcullis_llm_tokens_total{direction="input"}')})`,
      },
    },
    {
      title: 'Requests to providers',
      description: 'Requests to providers, including each failover attempt.',
      unit: 'reqps',
      queries: {
        '{{provider}} {{outcome}}': `sum by (provider, outcome) (${rate('portcullis_llm_requests_total')})`,
      },
    },
    {
      title: 'Time to the first token',
      description:
        '95th percentile of the time to the first token of streamed responses, by model.',
      unit: 's',
      queries: {
        '{{model}}': quantile(0.95, 'portcullis_llm_time_to_first_token_seconds', 'model'),
      },
    },
    {
      title: 'Time per token',
      description: 'Median time per output token of streamed responses, by model.',
      unit: 's',
      queries: {
        '{{model}}': quantile(0.5, 'portcullis_llm_time_per_output_token_seconds', 'model'),
      },
    },
    {
      title: 'Response duration',
      description: '95th percentile of the response duration, by model.',
      unit: 's',
      width: 12,
      queries: {
        '{{model}}': quantile(0.95, 'portcullis_llm_request_duration_seconds', 'model'),
      },
    },
    {
      title: 'Failovers',
      description: 'Requests that failed over to another provider, by reason.',
      unit: 'reqps',
      width: 12,
      queries: {
        '{{provider}} {{reason}}': `sum by (provider, reason) (${rate('portcullis_llm_failovers_total')})`,
      },
    },
    {
      title: 'Budgets and guards',
      description: 'Calls that budgets rejected, and calls that guards rejected or changed.',
      unit: 'reqps',
      width: 12,
      queries: {
        '{{policy}} budget of {{measure}}': `sum by (policy, measure) (${rate('portcullis_llm_budget_decisions_total{outcome!="allowed"}')})`,
        '{{policy}} {{phase}} {{outcome}}': `sum by (policy, phase, outcome) (${rate('portcullis_llm_guard_checks_total{outcome!="passed"}')})`,
      },
    },
    {
      title: 'Responses without a price',
      description: 'Responses whose cost is unknown because the model catalog has no rate.',
      unit: 'reqps',
      width: 12,
      queries: {
        '{{provider}} {{model}} {{outcome}}': `sum by (provider, model, outcome) (${rate('portcullis_llm_cost_lookups_total{outcome!="priced"}')})`,
      },
    },
  ],
}
