import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf'
import type { Exchange } from '../src/exchange/exchange.ts'
import { type CheckInput, grpcQuestion, readGrpcResponse } from '../src/policies/ext-authz/grpc.ts'
import { decode } from '../src/protobuf/decode.ts'
import {
  CheckResponseSchema,
  type OkHttpResponseSchema,
} from '../src/protobuf/generated/envoy/service/auth/v3/external_auth_pb.ts'
import {
  MetricFamilySchema,
  MetricType,
} from '../src/protobuf/generated/io/prometheus/client/metrics_pb.ts'
import {
  ScopeSpansSchema,
  Span_SpanKind as SpanKind,
} from '../src/protobuf/generated/opentelemetry/proto/trace/v1/trace_pb.ts'
import { requests } from '../src/telemetry/definitions/requests.ts'
import type { MetricView, NumberView } from '../src/telemetry/exposition.ts'
import { renderProtobuf } from '../src/telemetry/exposition-protobuf.ts'
import { createMetrics } from '../src/telemetry/metrics.ts'
import { encodeSpan } from '../src/telemetry/otlp-protobuf.ts'
import { spanFlags } from '../src/telemetry/otlp-span.ts'
import type { Span } from '../src/telemetry/trace.ts'
import { type Contender, contender, interleave, sink } from './measure.ts'
import { nanoseconds, type Report, type Target } from './report.ts'

/** Messages encoded by the generated code, and messages for which that would cost more. */
export async function protobuf(): Promise<Report> {
  const contenders = [...spans(), ...scrapes(), ...checks()]
  const figures = await interleave(contenders)
  const cost = (name: string) => figures.get(name)?.p10 ?? Number.NaN
  const target = (what: string, own: string, generated: string): Target => {
    const ratio = cost(own) / cost(generated)
    return {
      what: `${what}, field by field to generated code`,
      wanted: '≤ 0.6 ×',
      measured: `${ratio.toFixed(2)} ×`,
      met: ratio <= 0.6,
    }
  }
  return {
    intro: [
      'CPU time of one call (p10). A span has ten attributes; a CheckRequest has twelve headers, of',
      'them one of 600 bytes, and metadata; a CheckResponse sets two headers and has metadata.',
    ],
    targets: [
      // If this is missed, the generated code is good enough.
      target('a span', 'a span, field by field', 'a span, by generated code'),
      target('a scrape', '2,000 counters, field by field', '2,000 counters, by generated code'),
    ],
    tables: [
      {
        title: 'One message',
        columns: ['what', 'time'],
        rows: contenders.map(({ name }) => [name, nanoseconds(cost(name))]),
      },
    ],
  }
}

function each(name: string, turn: () => number): Contender {
  return contender(name, (times) => {
    for (let i = 0; i < times; i++) sink.count += turn()
  })
}

const SPAN: Span = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  flags: 1,
  parentId: 'b7ad6b7169203331',
  isParentRemote: true,
  tracestate: '',
  kind: 'server',
  name: 'GET /orders',
  start: 1_770_091_506_123_456,
  end: 1_770_091_506_125_000,
  attributes: {
    'http.request.method': 'GET',
    'url.path': '/orders/7/items',
    'url.scheme': 'https',
    'server.address': 'shop.example',
    'server.port': 443,
    'http.response.status_code': 200,
    'client.address': '203.0.113.9',
    'network.protocol.version': '1.1',
    'user_agent.original': 'curl/8.5.0',
    'http.route': '/orders',
  },
  status: 'unset',
  message: '',
}

function spans(): readonly Contender[] {
  return [
    each('a span, field by field', () => encodeSpan(SPAN).length),
    each('a span, by generated code', () => encodeGenerated(SPAN).length),
  ]
}

function encodeGenerated(span: Span): Uint8Array {
  const attributes = Object.entries(span.attributes).map(([key, own]) => {
    const value =
      typeof own === 'number'
        ? ({ case: 'intValue', value: BigInt(own) } as const)
        : ({ case: 'stringValue', value: own as string } as const)
    return { key, value: { value } }
  })
  const message = {
    traceId: Buffer.from(span.traceId, 'hex'),
    spanId: Buffer.from(span.spanId, 'hex'),
    parentSpanId: Buffer.from(span.parentId, 'hex'),
    name: span.name,
    kind: SpanKind.SERVER,
    startTimeUnixNano: BigInt(span.start) * 1000n,
    endTimeUnixNano: BigInt(span.end) * 1000n,
    attributes,
    flags: spanFlags(span),
  }
  return toBinary(ScopeSpansSchema, create(ScopeSpansSchema, { spans: [message] }))
}

function scrapes(): readonly Contender[] {
  const metrics = createMetrics()
  for (let i = 0; i < 500; i++) {
    const labels = { listener: 'default/https', route: `shop/route-${i}` }
    const slice = metrics.counter(requests).of(labels)
    for (const status of ['2xx', '3xx', '4xx', '5xx'] as const) {
      slice.at('GET', status, 'upstream').inc(i * 1000)
    }
  }
  const views = [...metrics.read()].filter(({ definition }) => definition.name === requests.name)
  return [
    each('2,000 counters, field by field', () => {
      let length = 0
      for (const piece of renderProtobuf(views)) length += piece.length
      return length
    }),
    each('2,000 counters, by generated code', () => scrapeGenerated(views)),
  ]
}

function scrapeGenerated(views: readonly MetricView[]): number {
  let length = 0
  for (const { definition, labelNames, series } of views) {
    const metric = [...(series as Iterable<NumberView>)].map(({ labels, value, created }) => ({
      label: labelNames.map((name, at) => ({ name, value: labels[at] as string })),
      counter: {
        value,
        createdTimestamp: { seconds: BigInt(Math.floor(created / 1000)), nanos: 0 },
      },
    }))
    const { name, help } = definition
    const family = create(MetricFamilySchema, { name, help, type: MetricType.COUNTER, metric })
    length += toBinary(MetricFamilySchema, family).length
  }
  return length
}

const EXCHANGE = {
  source: { address: { text: '203.0.113.9' }, port: 51410 },
  destination: { address: { text: '10.0.0.1' }, port: 443 },
  connection: { sni: 'shop.example' },
  request: {
    id: '01a1dd64-996a-76f8-bf3a-bf7a3c672491',
    method: 'GET',
    pathAndQuery: '/orders/7?x=1',
    host: 'shop.example',
    scheme: 'https',
    query: 'x=1',
    version: 'HTTP/1.1',
    startedAt: 1_770_091_506_123,
  },
} as unknown as Exchange

const ASKED: CheckInput = {
  headers: [
    [':method', 'GET'],
    [':path', '/orders/7?x=1'],
    [':authority', 'shop.example'],
    [':scheme', 'https'],
    ['accept', 'application/json'],
    ['user-agent', 'curl/8.5.0'],
    ['authorization', `Bearer ${'x'.repeat(600)}`],
    ['x-request-id', '01a1dd64-996a-76f8-bf3a-bf7a3c672491'],
    ['accept-encoding', 'gzip, br'],
    ['cookie', 'a=1; b=2; session=abcdefghijklmnop'],
    ['accept-language', 'en'],
    ['traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
  ],
  body: undefined,
  size: 0,
  packAsBytes: false,
  context: { route: 'orders' },
  metadata: { jwt: { sub: 'alice', groups: ['a', 'b'] } },
}

function checks(): readonly Contender[] {
  const header = (key: string, value: string) => ({ header: { key, value: Buffer.from(value) } })
  const okResponse: MessageInitShape<typeof OkHttpResponseSchema> = {
    headers: [header('x-user', 'alice'), header('x-team', 'orders')],
  }
  const init = { status: {}, okResponse, dynamicMetadata: { user: 'alice', roles: ['a', 'b'] } }
  const response = toBinary(CheckResponseSchema, create(CheckResponseSchema, init))
  const body = Buffer.alloc(5 + response.length)
  body.writeUInt32BE(response.length, 1)
  body.set(response, 5)
  const headers = new Map([['grpc-status', '0']])
  const reply = { status: 200, headers: headers as never, fields: [], trailers: headers, body }
  return [
    each('a CheckRequest', () => grpcQuestion(EXCHANGE, ASKED, 1000).body.length),
    each('a verdict from a CheckResponse', () => readGrpcResponse(reply).kind.length),
    each('a CheckResponse, decoded strictly', () => size(decode(CheckResponseSchema, response))),
    each('a CheckResponse, decoded', () => size(fromBinary(CheckResponseSchema, response))),
  ]
}

function size(message: { readonly $typeName: string } | undefined): number {
  return message?.$typeName.length ?? 0
}
