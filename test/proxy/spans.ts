import { decodeByPeer } from './protobuf-peer.ts'

export interface SeenSpan {
  readonly spanId: string
  readonly parentId: string
  readonly name: string
  readonly attributes: Readonly<Record<string, string | number>>
}

interface Decoded {
  readonly resourceSpans: readonly { readonly scopeSpans: readonly { readonly spans: Span[] }[] }[]
}

interface Span {
  readonly spanId: Buffer
  readonly parentSpanId?: Buffer
  readonly name: string
  readonly attributes?: readonly { readonly key: string; readonly value: Value }[]
}

interface Value {
  readonly intValue?: string
  readonly stringValue?: string
}

/** Decodes the spans of ExportTraceServiceRequests. */
export function spansIn(bodies: readonly Buffer[]): readonly SeenSpan[] {
  return bodies
    .map((body) => decodeByPeer<Decoded>(REQUEST, body))
    .flatMap(({ resourceSpans }) => resourceSpans)
    .flatMap(({ scopeSpans }) => scopeSpans)
    .flatMap(({ spans }) => spans)
    .map(({ spanId, parentSpanId, name, attributes = [] }) => ({
      spanId: spanId.toString('hex'),
      parentId: parentSpanId?.toString('hex') ?? '',
      name,
      attributes: Object.fromEntries(
        attributes.map(({ key, value: { intValue, stringValue = '' } }) => [
          key,
          intValue === undefined ? stringValue : Number(intValue),
        ]),
      ),
    }))
}

const REQUEST = 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest'
