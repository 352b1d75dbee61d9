import { decode } from '../protobuf/decode.ts'
import { FieldWriter } from '../protobuf/field-writer.ts'
import { ExportTraceServiceResponseSchema } from '../protobuf/generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts'
import { isInt64, KINDS, STATUSES, spanFlags, type TraceSource } from './otlp-span.ts'
import type { AttributeValue, Span } from './trace.ts'

// Spans are encoded on the request path, so field by field: with the generated code and its
// objects, a span with ten attributes takes 3.4 times the CPU time, 10 µs instead of 3 (`npm run
// bench protobuf`). A test decodes them with the generated code.
// Field numbers of opentelemetry.proto.trace.v1, .resource.v1 and .common.v1.
const REQUEST = { resourceSpans: 1 } as const
const RESOURCE_SPANS = { resource: 1, scopeSpans: 2 } as const
const RESOURCE = { attributes: 1 } as const
const SCOPE_SPANS = { scope: 1, spans: 2 } as const
const SCOPE = { name: 1, version: 2 } as const
const SPAN = {
  traceId: 1,
  spanId: 2,
  traceState: 3,
  parentSpanId: 4,
  name: 5,
  kind: 6,
  start: 7,
  end: 8,
  attributes: 9,
  status: 15,
  flags: 16,
} as const
const STATUS = { message: 2, code: 3 } as const
const KEY_VALUE = { key: 1, value: 2 } as const
const ANY_VALUE = { string: 1, bool: 2, int: 3, double: 4, array: 5 } as const
const ARRAY = { values: 1 } as const

const writer = new FieldWriter()

/** One span, as a field of ScopeSpans: a batch is a concatenation of such fields. */
export function encodeSpan(span: Span): Uint8Array {
  writer.begin(SCOPE_SPANS.spans)
  writer.hex(SPAN.traceId, span.traceId)
  writer.hex(SPAN.spanId, span.spanId)
  if (span.tracestate !== '') writer.string(SPAN.traceState, span.tracestate)
  if (span.parentId !== '') writer.hex(SPAN.parentSpanId, span.parentId)
  writer.string(SPAN.name, span.name)
  writer.uint(SPAN.kind, KINDS[span.kind])
  writer.fixed64(SPAN.start, BigInt(span.start) * 1000n)
  writer.fixed64(SPAN.end, BigInt(span.end) * 1000n)
  writeAttributes(writer, SPAN.attributes, span.attributes)
  if (span.status !== 'unset') {
    writer.begin(SPAN.status)
    if (span.message !== '') writer.string(STATUS.message, span.message)
    writer.uint(STATUS.code, STATUSES[span.status])
    writer.end()
  }
  writer.fixed32(SPAN.flags, spanFlags(span))
  writer.end()
  return writer.take()
}

/** An ExportTraceServiceRequest around encoded spans. */
export function encodeBatch(spans: readonly Uint8Array[], source: TraceSource): Uint8Array {
  writer.begin(REQUEST.resourceSpans)
  writeSource(writer, RESOURCE_SPANS.scopeSpans, source)
  for (const span of spans) writer.append(span)
  writer.end()
  writer.end()
  return writer.take()
}

/** The resource and the beginning of the scope's content, which are the same for spans and logs. */
export function writeSource(writer: FieldWriter, scoped: number, source: TraceSource): void {
  writer.begin(RESOURCE_SPANS.resource)
  writeAttributes(writer, RESOURCE.attributes, source.resource)
  writer.end()
  writer.begin(scoped)
  writer.begin(SCOPE_SPANS.scope)
  writer.string(SCOPE.name, source.scope.name)
  writer.string(SCOPE.version, source.scope.version)
  writer.end()
}

export function writeAttributes(
  writer: FieldWriter,
  field: number,
  attributes: Readonly<Record<string, AttributeValue | undefined>>,
): void {
  for (const key in attributes) {
    const value = attributes[key]
    if (value === undefined) continue
    writer.begin(field)
    writer.string(KEY_VALUE.key, key)
    writeValue(writer, KEY_VALUE.value, value)
    writer.end()
  }
}

export function writeValue(writer: FieldWriter, field: number, value: AttributeValue): void {
  writer.begin(field)
  if (typeof value === 'string') writer.string(ANY_VALUE.string, value)
  else if (typeof value === 'boolean') writer.bool(ANY_VALUE.bool, value)
  else if (typeof value === 'bigint') writeBigInt(writer, value)
  else if (typeof value !== 'number') {
    writer.begin(ANY_VALUE.array)
    for (const each of value) writeValue(writer, ARRAY.values, each)
    writer.end()
  } else if (Number.isSafeInteger(value)) writer.int(ANY_VALUE.int, value)
  else writer.double(ANY_VALUE.double, value)
  writer.end()
}

function writeBigInt(writer: FieldWriter, value: bigint): void {
  if (isInt64(value)) writer.int(ANY_VALUE.int, value)
  else writer.string(ANY_VALUE.string, String(value))
}

/** How many spans a response reports as rejected; an unreadable response counts as 0. */
export function rejectedIn(body: Uint8Array): number {
  const response = decode(ExportTraceServiceResponseSchema, body)
  return Number(response?.partialSuccess?.rejectedSpans ?? 0n)
}
