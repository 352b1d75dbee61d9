import { quantile, type Row, rate } from './panel.ts'

export const LLM_ROW: Row = {
  title: 'LLM',
  panels: [
    {
      title: 'Cost',
      description: 'What models cost in the chosen time, by the rates of the model catalog.',
      kind: 'stat',
      unit: 'currencyUSD',
      queries: { cost: 'sum(increase(portcullis_llm_cost_usd_total[$__range]))' },
    },
    {
      title: 'Cost by model',
      description: 'The twenty models that cost most in the chosen time.',
      kind: 'table',
      unit: 'currencyUSD',
      queries: {
        cost: 'topk(20, sum by (provider, model) (increase(portcullis_llm_cost_usd_total[$__range])))',
      },
    },
    {
      title: 'Cost per hour',
      description: 'The ten routes that cost most, at the pace of the moment.',
      unit: 'currencyUSD',
      queries: {
        '{{route}}': `topk(10, 3600 * sum by (route) (${rate('portcullis_llm_cost_usd_total')}))`,
      },
    },
    {
      title: 'Tokens',
      description: 'Tokens per second, to models and from them.',
      queries: {
        '{{direction}}': `sum by (direction) (${rate('portcullis_llm_tokens_total')})`,
      },
    },
    {
      title: 'Tokens by model',
      description: 'The ten models that use most tokens per second.',
      queries: {
        '{{provider}} {{model}}': `topk(10, sum by (provider, model) (${rate('portcullis_llm_tokens_total')}))`,
      },
    },
    {
      title: 'Tokens from the prompt cache',
      description: 'Share of input tokens that the provider had in its cache.',
      unit: 'percentunit',
      queries: {
        '{{provider}}': `sum by (provider) (${rate('portcullis_llm_tokens_total{direction="input", cache="read"}')}) / sum by (provider) (${rate('portcullis_llm_tokens_total{direction="input"}')})`,
      },
    },
    {
      title: 'Requests to providers',
      description: 'Requests to providers, each attempt of a failover included.',
      unit: 'reqps',
      queries: {
        '{{provider}} {{outcome}}': `sum by (provider, outcome) (${rate('portcullis_llm_requests_total')})`,
      },
    },
    {
      title: 'Time to the first token',
      description: '95 of 100 streamed answers of each model begin within this time.',
      unit: 's',
      queries: {
        '{{model}}': quantile(0.95, 'portcullis_llm_time_to_first_token_seconds', 'model'),
      },
    },
    {
      title: 'Time per token',
      description: 'Half of the streamed answers of each model take at most this for each token.',
      unit: 's',
      queries: {
        '{{model}}': quantile(0.5, 'portcullis_llm_time_per_output_token_seconds', 'model'),
      },
    },
    {
      title: 'Whole answers',
      description: '95 of 100 answers of each model end within this time.',
      unit: 's',
      width: 12,
      queries: {
        '{{model}}': quantile(0.95, 'portcullis_llm_request_duration_seconds', 'model'),
      },
    },
    {
      title: 'Failovers',
      description: 'Requests that went on from a provider to another, and why.',
      unit: 'reqps',
      width: 12,
      queries: {
        '{{provider}} {{reason}}': `sum by (provider, reason) (${rate('portcullis_llm_failovers_total')})`,
      },
    },
    {
      title: 'Budgets and guards',
      description: 'What budgets and guards did not let through as it was.',
      unit: 'reqps',
      width: 12,
      queries: {
        '{{policy}} budget of {{measure}}': `sum by (policy, measure) (${rate('portcullis_llm_budget_decisions_total{outcome!="allowed"}')})`,
        '{{policy}} {{phase}} {{outcome}}': `sum by (policy, phase, outcome) (${rate('portcullis_llm_guard_checks_total{outcome!="passed"}')})`,
      },
    },
    {
      title: 'Answers without a price',
      description: 'Answers whose cost is not counted, because the model catalog has no rate.',
      unit: 'reqps',
      width: 12,
      queries: {
        '{{provider}} {{model}} {{outcome}}': `sum by (provider, model, outcome) (${rate('portcullis_llm_cost_lookups_total{outcome!="priced"}')})`,
      },
    },
  ],
}
