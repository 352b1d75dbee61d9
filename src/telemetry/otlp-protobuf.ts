import { ProtobufWriter } from './protobuf.ts'
import { readProtobuf } from './protobuf-reader.ts'
import type { AttributeValue, Span } from './trace.ts'

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

export const KINDS = { internal: 1, server: 2, client: 3 } as const
export const STATUSES = { unset: 0, ok: 1, error: 2 } as const

/** What the scope and resource of all spans are. */
export interface TraceSource {
  /** Attributes of the process, `service.name` first of all. */
  readonly resource: Readonly<Record<string, AttributeValue>>
  readonly scope: { readonly name: string; readonly version: string }
}

/** Bit 8: it is known whether the parent is remote; bit 9: it is. */
export function spanFlags({ flags, parentId, isParentRemote }: Span): number {
  if (parentId === '') return flags
  return flags | 0x100 | (isParentRemote ? 0x200 : 0)
}

const writer = new ProtobufWriter()

/** One span, as a field of ScopeSpans: a batch is made by putting such fields one after another. */
export function encodeSpan(span: Span): Uint8Array {
  const start = writer.begin(SCOPE_SPANS.spans)
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
    const status = writer.begin(SPAN.status)
    if (span.message !== '') writer.string(STATUS.message, span.message)
    writer.uint(STATUS.code, STATUSES[span.status])
    writer.end(status)
  }
  writer.fixed32(SPAN.flags, spanFlags(span))
  writer.end(start)
  return writer.take()
}

/** An ExportTraceServiceRequest around spans that are encoded already. */
export function encodeBatch(spans: readonly Uint8Array[], source: TraceSource): Uint8Array {
  const resourceSpans = writer.begin(REQUEST.resourceSpans)
  const resource = writer.begin(RESOURCE_SPANS.resource)
  writeAttributes(writer, RESOURCE.attributes, source.resource)
  writer.end(resource)
  const scopeSpans = writer.begin(RESOURCE_SPANS.scopeSpans)
  const scope = writer.begin(SCOPE_SPANS.scope)
  writer.string(SCOPE.name, source.scope.name)
  writer.string(SCOPE.version, source.scope.version)
  writer.end(scope)
  for (const span of spans) writer.append(span)
  writer.end(scopeSpans)
  writer.end(resourceSpans)
  return writer.take()
}

function writeAttributes(
  writer: ProtobufWriter,
  field: number,
  attributes: Readonly<Record<string, AttributeValue | undefined>>,
): void {
  for (const key in attributes) {
    const value = attributes[key]
    if (value === undefined) continue
    const pair = writer.begin(field)
    writer.string(KEY_VALUE.key, key)
    writeValue(writer, KEY_VALUE.value, value)
    writer.end(pair)
  }
}

function writeValue(writer: ProtobufWriter, field: number, value: AttributeValue): void {
  const any = writer.begin(field)
  if (typeof value === 'string') writer.string(ANY_VALUE.string, value)
  else if (typeof value === 'boolean') writer.bool(ANY_VALUE.bool, value)
  else if (typeof value === 'bigint') writeBigInt(writer, value)
  else if (typeof value !== 'number') {
    const array = writer.begin(ANY_VALUE.array)
    for (const each of value) writeValue(writer, ARRAY.values, each)
    writer.end(array)
  } else if (Number.isSafeInteger(value)) writer.int(ANY_VALUE.int, value)
  else writer.double(ANY_VALUE.double, value)
  writer.end(any)
}

function writeBigInt(writer: ProtobufWriter, value: bigint): void {
  if (isInt64(value)) writer.int(ANY_VALUE.int, value)
  else writer.string(ANY_VALUE.string, String(value))
}

/** Unsigned numbers of expressions may be too large for the only whole numbers of OTLP. */
export function isInt64(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value
}

/** Field 1 of ExportTraceServiceResponse; its own field 1 is the number of spans not taken. */
const RESPONSE = { partialSuccess: 1, rejectedSpans: 1 } as const

/** How many spans were not taken, by an answer; one that cannot be read says nothing. */
export function rejectedIn(answer: Uint8Array): number {
  const partial = readProtobuf(answer)?.get(RESPONSE.partialSuccess)?.at(-1)
  if (!(partial instanceof Uint8Array)) return 0
  const rejected = readProtobuf(partial)?.get(RESPONSE.rejectedSpans)?.at(-1)
  return typeof rejected === 'bigint' ? Number(BigInt.asIntN(64, rejected)) : 0
}
