import { decode } from '../protobuf/decode.ts'
import { FieldWriter } from '../protobuf/field-writer.ts'
import { ExportLogsServiceResponseSchema } from '../protobuf/generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts'
import { writeAttributes, writeSource, writeValue } from './otlp-protobuf.ts'
import type { TraceSource } from './otlp-span.ts'
import type { AttributeValue } from './trace.ts'

// Like spans, records are encoded on the request path, field by field. A test decodes them with the
// generated code.

/** An access log record in the data model of OTLP. */
export interface LogRecord {
  /** Microseconds since 1970. */
  readonly time: number
  readonly body: string
  /** The request's trace and the gateway's own span; empty if there are none. */
  readonly traceId: string
  readonly spanId: string
  readonly attributes: Readonly<Record<string, AttributeValue | undefined>>
}

// Field numbers of opentelemetry.proto.logs.v1.
const REQUEST = { resourceLogs: 1 } as const
const RESOURCE_LOGS = { scopeLogs: 2 } as const
const SCOPE_LOGS = { records: 2 } as const
const RECORD = {
  time: 1,
  severityNumber: 2,
  severityText: 3,
  body: 5,
  attributes: 6,
  traceId: 9,
  spanId: 10,
  observedTime: 11,
} as const

/** SEVERITY_NUMBER_INFO. */
const INFO = 9

const writer = new FieldWriter()

/** One record, as a field of ScopeLogs. */
export function encodeLogRecord(record: LogRecord): Uint8Array {
  const time = BigInt(record.time) * 1000n
  writer.begin(SCOPE_LOGS.records)
  writer.fixed64(RECORD.time, time)
  writer.uint(RECORD.severityNumber, INFO)
  writer.string(RECORD.severityText, 'INFO')
  writeValue(writer, RECORD.body, record.body)
  writeAttributes(writer, RECORD.attributes, record.attributes)
  if (record.traceId !== '') writer.hex(RECORD.traceId, record.traceId)
  if (record.spanId !== '') writer.hex(RECORD.spanId, record.spanId)
  writer.fixed64(RECORD.observedTime, time)
  writer.end()
  return writer.take()
}

/** An ExportLogsServiceRequest around encoded records. */
export function encodeLogBatch(records: readonly Uint8Array[], source: TraceSource): Uint8Array {
  writer.begin(REQUEST.resourceLogs)
  writeSource(writer, RESOURCE_LOGS.scopeLogs, source)
  for (const record of records) writer.append(record)
  writer.end()
  writer.end()
  return writer.take()
}

/** How many records a response reports as rejected; an unreadable response counts as 0. */
export function rejectedLogsIn(body: Uint8Array): number {
  const response = decode(ExportLogsServiceResponseSchema, body)
  return Number(response?.partialSuccess?.rejectedLogRecords ?? 0n)
}
