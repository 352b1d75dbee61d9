import type { MetricGroup } from '../definition.ts'
import { defineHistogram } from '../histogram.ts'
import { label } from '../label.ts'
import { MANY_SERIES } from './buckets.ts'

/*
 * Names, labels and buckets of OpenTelemetry's conventions for generative AI, in Prometheus form.
 */

const OPERATION = label('gen_ai_operation_name', 'the operation: `chat`, `embeddings` and others')
const PROVIDER = label(
  'gen_ai_provider_name',
  'the vendor of the provider, as OpenTelemetry names it: `openai`, `anthropic`, `aws.bedrock` and others',
)
const MODEL = label(
  'gen_ai_request_model',
  'the model that was requested from the provider; `other` if neither the configuration nor the model catalog names it',
)
const TOKEN_TYPE = label('gen_ai_token_type', '`input` or `output`')

export const genAiTokenUsage = defineHistogram({
  name: 'gen_ai_client_token_usage',
  help: 'Tokens of each call, as the provider reports them; cached and reasoning tokens are included.',
  labels: [OPERATION, PROVIDER, MODEL, TOKEN_TYPE],
  bounds: Array.from({ length: 14 }, (_, power) => 4 ** power),
  maximum: MANY_SERIES,
})

export const genAiOperationDuration = defineHistogram({
  name: 'gen_ai_client_operation_duration_seconds',
  help: 'Time from sending a request to a provider to the last byte of its response.',
  labels: [OPERATION, PROVIDER, MODEL],
  unit: 'seconds',
  bounds: Array.from({ length: 14 }, (_, power) => 2 ** power / 100),
  maximum: MANY_SERIES,
})

export const genAiTimeToFirstToken = defineHistogram({
  name: 'gen_ai_server_time_to_first_token_seconds',
  help: 'Time from sending a request to a provider to the first token of a streamed response.',
  labels: [OPERATION, PROVIDER, MODEL],
  unit: 'seconds',
  bounds: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  maximum: MANY_SERIES,
})

export const genAiTimePerOutputToken = defineHistogram({
  name: 'gen_ai_server_time_per_output_token_seconds',
  help: 'Mean time for each token after the first of a streamed response.',
  labels: [OPERATION, PROVIDER, MODEL],
  unit: 'seconds',
  bounds: [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5],
  maximum: MANY_SERIES,
})

export const GEN_AI: MetricGroup = {
  title: 'Generative AI by OpenTelemetry names',
  metrics: [
    genAiTokenUsage,
    genAiOperationDuration,
    genAiTimeToFirstToken,
    genAiTimePerOutputToken,
  ],
}
