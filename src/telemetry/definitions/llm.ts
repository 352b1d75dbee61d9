import { defineCounter } from '../counter.ts'
import type { MetricGroup } from '../definition.ts'
import { defineHistogram } from '../histogram.ts'
import { label } from '../label.ts'
import { FIRST_TOKEN_SECONDS, MANY_SERIES, REQUEST_SECONDS, TOKEN_SECONDS } from './buckets.ts'
import { POLICY, ROUTE } from './labels.ts'

// The metrics of OpenTelemetry's conventions for generative AI by route, under Portcullis names;
// the help of each names its equivalent, and gen-ai.ts defines them under the original names.
// Clients choose models: a model that the configuration does not know must not become a series.

const PROVIDER = label('provider', 'the provider, as named in rules (`gen_ai.provider.name`)')
const MODEL = label(
  'model',
  'the model that was requested from the provider (`gen_ai.request.model`); `other` if neither the configuration nor the model catalog names it',
)
const DIRECTION = label('direction', 'input or output tokens (`gen_ai.token.type`)', [
  'input',
  'output',
])

export const llmRequests = defineCounter({
  name: 'portcullis_llm_requests_total',
  help: 'Calls to models that reached a provider, by how they ended there.',
  labels: [
    ROUTE,
    PROVIDER,
    MODEL,
    label('operation', 'the operation (`gen_ai.operation.name`)', [
      'chat',
      'embeddings',
      'rerank',
      'count-tokens',
      'state',
    ]),
    label('outcome', 'the outcome', [
      'success',
      'refused',
      'rate-limited',
      'failed',
      'timeout',
      'unreachable',
      'cancelled',
    ]),
  ],
})

export const llmTokens = defineCounter({
  name: 'portcullis_llm_tokens_total',
  help: 'Tokens used, as reported by providers; each token is counted once (`gen_ai.client.token.usage`).',
  labels: [
    ROUTE,
    PROVIDER,
    MODEL,
    DIRECTION,
    label('cache', 'how the prompt cache of the provider handled them', ['none', 'read', 'write']),
  ],
})

export const llmCost = defineCounter({
  name: 'portcullis_llm_cost_usd_total',
  help: 'Cost of tokens based on the model catalog; tokens without a rate are not included.',
  labels: [ROUTE, PROVIDER, MODEL, DIRECTION],
  unit: 'usd',
})

export const llmCostLookups = defineCounter({
  name: 'portcullis_llm_cost_lookups_total',
  help: 'Responses whose cost was looked up in the model catalog.',
  labels: [
    PROVIDER,
    MODEL,
    label('outcome', 'the result of the lookup', [
      'priced',
      'unpriced',
      'unknown-model',
      'no-catalog',
    ]),
  ],
})

export const llmRequestDuration = defineHistogram({
  name: 'portcullis_llm_request_duration_seconds',
  help: 'Time from sending a request to a provider to the last byte of its response (`gen_ai.client.operation.duration`).',
  labels: [ROUTE, PROVIDER, MODEL],
  unit: 'seconds',
  bounds: REQUEST_SECONDS,
  maximum: MANY_SERIES,
})

export const llmTimeToFirstToken = defineHistogram({
  name: 'portcullis_llm_time_to_first_token_seconds',
  help: 'Time from sending a request to a provider to the first token of a streamed response (`gen_ai.server.time_to_first_token`).',
  labels: [ROUTE, PROVIDER, MODEL],
  unit: 'seconds',
  bounds: FIRST_TOKEN_SECONDS,
  maximum: MANY_SERIES,
})

export const llmTimePerOutputToken = defineHistogram({
  name: 'portcullis_llm_time_per_output_token_seconds',
  help: 'Mean time for each token after the first of a streamed response (`gen_ai.server.time_per_output_token`).',
  labels: [ROUTE, PROVIDER, MODEL],
  unit: 'seconds',
  bounds: TOKEN_SECONDS,
  maximum: MANY_SERIES,
})

export const llmFailovers = defineCounter({
  name: 'portcullis_llm_failovers_total',
  help: 'Requests that failed over from this provider to another before their response began.',
  labels: [
    ROUTE,
    PROVIDER,
    label('reason', 'why this provider was not used', [
      'connect',
      'timeout',
      'reset',
      'rate-limited',
      'status',
      'authorization',
      'unhealthy',
    ]),
  ],
})

export const llmBudgetDecisions = defineCounter({
  name: 'portcullis_llm_budget_decisions_total',
  help: 'Model calls checked against a budget.',
  labels: [
    POLICY,
    label('measure', 'unit of the budget', ['requests', 'tokens', 'usd']),
    label('outcome', 'the result', ['allowed', 'exhausted', 'error']),
  ],
})

export const llmGuardChecks = defineCounter({
  name: 'portcullis_llm_guard_checks_total',
  help: 'Prompts and responses that a guard inspected, by what became of them.',
  labels: [
    POLICY,
    label('phase', 'what was inspected', ['request', 'response']),
    label('outcome', 'the result', ['passed', 'masked', 'rejected', 'error']),
  ],
})

export const LLM: MetricGroup = {
  title: 'LLM',
  metrics: [
    llmRequests,
    llmTokens,
    llmCost,
    llmCostLookups,
    llmRequestDuration,
    llmTimeToFirstToken,
    llmTimePerOutputToken,
    llmFailovers,
    llmBudgetDecisions,
    llmGuardChecks,
  ],
}
