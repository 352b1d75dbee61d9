import type { ModelCall } from '../program/model-call.ts'
import { formatDollars } from '../program/model-prices.ts'
import {
  llmBudgetDecisions,
  llmCost,
  llmCostLookups,
  llmFailovers,
  llmGuardChecks,
  llmRequestDuration,
  llmRequests,
  llmTimePerOutputToken,
  llmTimeToFirstToken,
  llmTokens,
} from '../telemetry/definitions/llm.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { Milliseconds } from '../telemetry/time-text.ts'
import type { AccessRecord } from './access-record.ts'
import { genAiSeries } from './gen-ai-series.ts'
import type { RequestState } from './request-state.ts'

/* Metrics and log fields of calls to models, in addition to those of all requests. */

const OPERATIONS = {
  generate: 'chat',
  countTokens: 'count-tokens',
  compact: 'chat',
  embed: 'embeddings',
  rerank: 'rerank',
  other: 'other',
  models: 'chat',
  state: 'state',
} as const

/** Counts a call that is over; a call that reached no provider counts only as a request. */
export function countCall(metrics: Metrics, state: RequestState, now: number): void {
  const { call, selection, route, sentAt } = state
  const response = call?.response
  for (const { policy, measure, outcome } of call?.budgetDecisions ?? []) {
    metrics.counter(llmBudgetDecisions).of({ policy }).at(measure, outcome).inc()
  }
  for (const { policy, phase, outcome } of call?.guardChecks.values() ?? []) {
    if (outcome === undefined) continue
    metrics.counter(llmGuardChecks).of({ policy }).at(phase, outcome).inc()
  }
  if (call === undefined || response === undefined || sentAt === 0) return
  const provider = selection?.chosen?.provider ?? 'none'
  const labels = { route: route?.name || 'none', provider, model: call.modelLabel }
  const operation = OPERATIONS[call.endpoint.operation]
  metrics.counter(llmRequests).of(labels).at(operation, outcomeOf(state)).inc()
  const standard = genAiSeries(metrics, operation, call.providerName || 'none', call.modelLabel)
  const duration = (now - sentAt) / 1000
  metrics.histogram(llmRequestDuration).of(labels).at().observe(duration)
  standard.duration.at().observe(duration)
  const { usage } = response.summary
  const { firstTokenAt } = response
  if (firstTokenAt > 0) {
    const first = (firstTokenAt - sentAt) / 1000
    metrics.histogram(llmTimeToFirstToken).of(labels).at().observe(first)
    standard.timeToFirstToken.at().observe(first)
    const later = (usage?.output ?? 0) - 1
    if (later > 0) {
      const each = (now - firstTokenAt) / 1000 / later
      metrics.histogram(llmTimePerOutputToken).of(labels).at().observe(each)
      standard.timePerOutputToken.at().observe(each)
    }
  }
  if (usage === undefined) return
  const tokens = metrics.counter(llmTokens).of(labels)
  const { input, output, cacheRead, cacheWrite } = usage
  // Each token is counted once, even if the provider counts it twice.
  tokens.at('input', 'none').inc(Math.max(0, input - cacheRead - cacheWrite))
  if (cacheRead > 0) tokens.at('input', 'read').inc(cacheRead)
  if (cacheWrite > 0) tokens.at('input', 'write').inc(cacheWrite)
  tokens.at('output', 'none').inc(output)
  standard.input.at().observe(input)
  standard.output.at().observe(output)
  countCost(metrics, labels, call)
}

/** Counts the providers that another one replaced, whether the gateway reads the call or not. */
export function countFailovers(
  metrics: Metrics,
  { selection, exchange, failovers, route: own }: RequestState,
): void {
  const failed = metrics.counter(llmFailovers)
  const route = own?.name || 'none'
  for (const { provider, reason } of failovers) failed.of({ route, provider }).at(reason).inc()
  if (selection?.chosen === undefined) return
  for (const { provider, isSkipped } of exchange.decisions) {
    if (isSkipped !== true || provider === undefined) continue
    failed.of({ route, provider }).at('authorization').inc()
  }
}

function countCost(
  metrics: Metrics,
  { route, provider, model }: Readonly<Record<'route' | 'provider' | 'model', string>>,
  { priced }: ModelCall,
): void {
  if (priced === undefined) return
  metrics.counter(llmCostLookups).of({ provider, model }).at(priced.outcome).inc()
  const { cost } = priced
  if (cost === undefined) return
  const spent = metrics.counter(llmCost).of({ route, provider, model })
  const output = cost.output + cost.reasoning
  spent.at('input').inc(Number(cost.total - output) / 1e12)
  spent.at('output').inc(Number(output) / 1e12)
}

function outcomeOf({ exchange }: RequestState) {
  const { status, reason } = exchange
  if (reason === 'client-gone') return 'cancelled'
  if (reason === 'upstream-timeout' || reason === 'request-timeout') return 'timeout'
  if (reason === 'upstream-connect') return 'unreachable'
  if (reason !== 'upstream') return 'failed'
  if (status === 429) return 'rate-limited'
  if (status >= 500) return 'failed'
  return status >= 400 ? 'refused' : 'success'
}

/** The fields of the access log. */
export function modelFields({ call, sentAt }: RequestState): AccessRecord {
  if (call === undefined) return NO_FIELDS
  const { response, providerName, endpoint, model, priced } = call
  const { usage, model: responseModel } = response?.summary ?? {}
  const first = response?.firstTokenAt ?? 0
  return {
    'gen_ai.operation.name': OPERATIONS[endpoint.operation],
    'gen_ai.provider.name': providerName || undefined,
    'gen_ai.request.model': model || undefined,
    'gen_ai.response.model': responseModel,
    'gen_ai.usage.input_tokens': usage?.input,
    'gen_ai.usage.output_tokens': usage?.output,
    'gen_ai.usage.cache_read.input_tokens': usage?.cacheRead || undefined,
    'gen_ai.usage.cache_creation.input_tokens': usage?.cacheWrite || undefined,
    'gen_ai.usage.reasoning.output_tokens': usage?.reasoning || undefined,
    'llm.cost': priced?.cost && formatDollars(priced.cost.total),
    'llm.time_to_first_token': first > 0 ? new Milliseconds(first - sentAt) : undefined,
    'llm.dropped': response?.dropped || undefined,
  }
}

const NO_FIELDS: AccessRecord = {}
