import {
  type BatchExporter,
  type BatchOptions,
  type Codec,
  createBatchExporter,
} from './otlp-batches.ts'
import { encodeBatchAsJson, encodeSpanAsJson, rejectedInJson } from './otlp-json.ts'
import type { LogRecord } from './otlp-logs.ts'
import type { Span } from './trace.ts'

export interface OtlpExporterOptions extends BatchOptions {
  readonly encoding?: 'protobuf' | 'json'
}

/** Sends spans to a collector. */
export function createOtlpExporter(options: OtlpExporterOptions): BatchExporter<Span> {
  return createBatchExporter(options.encoding === 'json' ? JSON_SPANS : loadSpans(), options)
}

/** Sends access log records to a collector. */
export function createOtlpLogExporter(options: BatchOptions): BatchExporter<LogRecord> {
  return createBatchExporter(loadLogs(), options)
}

const PROTOBUF = 'application/x-protobuf'

/** Loaded with the first collector that gets protobuf. */
async function loadSpans(): Promise<Codec<Span>> {
  const { encodeSpan, encodeBatch, rejectedIn } = await import('./otlp-protobuf.ts')
  return { contentType: PROTOBUF, encode: encodeSpan, encodeBatch, rejected: rejectedIn }
}

async function loadLogs(): Promise<Codec<LogRecord>> {
  const { encodeLogRecord, encodeLogBatch, rejectedLogsIn } = await import('./otlp-logs.ts')
  return {
    contentType: PROTOBUF,
    encode: encodeLogRecord,
    encodeBatch: encodeLogBatch,
    rejected: rejectedLogsIn,
  }
}

const JSON_SPANS: Codec<Span> = {
  contentType: 'application/json',
  encode: encodeSpanAsJson,
  encodeBatch: encodeBatchAsJson,
  rejected: rejectedInJson,
}
