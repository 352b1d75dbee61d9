import { isInt64, KINDS, STATUSES, spanFlags, type TraceSource } from './otlp-span.ts'
import type { AttributeValue, Span } from './trace.ts'

/** One span of ExportTraceServiceRequest as JSON: IDs in hexadecimal, 64-bit numbers as strings. */
export function encodeSpanAsJson(span: Span): Uint8Array {
  const { traceId, spanId, parentId, tracestate, name, start, end, status, message } = span
  return Buffer.from(
    JSON.stringify({
      traceId,
      spanId,
      ...(tracestate === '' ? {} : { traceState: tracestate }),
      ...(parentId === '' ? {} : { parentSpanId: parentId }),
      name: name.toWellFormed(),
      kind: KINDS[span.kind],
      startTimeUnixNano: String(BigInt(start) * 1000n),
      endTimeUnixNano: String(BigInt(end) * 1000n),
      attributes: pairs(span.attributes),
      ...(status === 'unset' ? {} : { status: { code: STATUSES[status], message } }),
      flags: spanFlags(span),
    }),
  )
}

/** Wraps encoded spans, separated by commas, in the request. */
export function encodeBatchAsJson(spans: readonly Uint8Array[], source: TraceSource): Uint8Array {
  const resource = JSON.stringify({ attributes: pairs(source.resource) })
  const scope = JSON.stringify(source.scope)
  const before = `{"resourceSpans":[{"resource":${resource},"scopeSpans":[{"scope":${scope},"spans":[`
  const joined = spans.flatMap((span, at) => (at === 0 ? [span] : [COMMA, span]))
  return Buffer.concat([Buffer.from(before), ...joined, Buffer.from(']}]}]}')])
}

const COMMA = Buffer.from(',')

function pairs(attributes: Readonly<Record<string, AttributeValue | undefined>>) {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined ? [] : [{ key, value: anyValue(value) }],
  )
}

function anyValue(value: AttributeValue): Readonly<Record<string, unknown>> {
  switch (typeof value) {
    case 'string':
      return { stringValue: value.toWellFormed() }
    case 'boolean':
      return { boolValue: value }
    case 'bigint':
      return isInt64(value) ? { intValue: String(value) } : { stringValue: String(value) }
    case 'number':
      return Number.isSafeInteger(value) ? { intValue: String(value) } : doubleValue(value)
    default:
      return { arrayValue: { values: value.map(anyValue) } }
  }
}

/** JSON cannot represent these numbers; the JSON form of protobuf uses strings. */
function doubleValue(value: number): Readonly<Record<string, unknown>> {
  return { doubleValue: Number.isFinite(value) ? value : String(value) }
}

/** Like `rejectedIn`, for a response in JSON. */
export function rejectedInJson(response: Uint8Array): number {
  try {
    const { partialSuccess } = JSON.parse(Buffer.from(response).toString())
    const rejected = Number(partialSuccess?.rejectedSpans ?? 0)
    return Number.isSafeInteger(rejected) && rejected > 0 ? rejected : 0
  } catch {
    return 0
  }
}
