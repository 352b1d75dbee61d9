import {
  genAiOperationDuration,
  genAiTimePerOutputToken,
  genAiTimeToFirstToken,
  genAiTokenUsage,
} from '../telemetry/definitions/gen-ai.ts'
import type { Metrics } from '../telemetry/metrics.ts'

type GenAiSeries = ReturnType<typeof makeSeries>

/** Keyed by operation, vendor and model; few of each are known. */
const known = new WeakMap<Metrics, Map<string, GenAiSeries>>()

/** The series of calls by OpenTelemetry's names: one lookup for each call. */
export function genAiSeries(
  metrics: Metrics,
  operation: string,
  provider: string,
  model: string,
): GenAiSeries {
  let series = known.get(metrics)
  if (series === undefined) {
    series = new Map()
    known.set(metrics, series)
  }
  const key = `${operation}\0${provider}\0${model}`
  const found = series.get(key)
  if (found !== undefined) return found
  const made = makeSeries(metrics, operation, provider, model)
  series.set(key, made)
  return made
}

function makeSeries(metrics: Metrics, operation: string, provider: string, model: string) {
  const labels = {
    gen_ai_operation_name: operation,
    gen_ai_provider_name: provider,
    gen_ai_request_model: model,
  }
  const tokens = metrics.histogram(genAiTokenUsage)
  return {
    input: tokens.of({ ...labels, gen_ai_token_type: 'input' }),
    output: tokens.of({ ...labels, gen_ai_token_type: 'output' }),
    duration: metrics.histogram(genAiOperationDuration).of(labels),
    timeToFirstToken: metrics.histogram(genAiTimeToFirstToken).of(labels),
    timePerOutputToken: metrics.histogram(genAiTimePerOutputToken).of(labels),
  }
}
