import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fromBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { decodeByPeer } from '../../test/proxy/protobuf-peer.ts'
import { ExportTraceServiceRequestSchema } from '../protobuf/generated/opentelemetry/proto/collector/trace/v1/trace_service_pb.ts'
import { encodeBatchAsJson, encodeSpanAsJson, rejectedInJson } from './otlp-json.ts'
import { encodeBatch, encodeSpan, rejectedIn } from './otlp-protobuf.ts'
import type { Span } from './trace.ts'

const SOURCE = {
  resource: { 'service.name': 'portcullis' },
  scope: { name: 'portcullis', version: '0.1.0' },
} as const

const PLAIN: Span = {
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  flags: 3,
  parentId: '',
  isParentRemote: false,
  tracestate: '',
  kind: 'server',
  name: 'plain',
  start: 1_770_091_506_123_456,
  end: 1_770_091_506_125_000,
  attributes: {},
  status: 'unset',
  message: '',
}

const FULL: Span = {
  ...PLAIN,
  name: 'GET /orders',
  parentId: 'b7ad6b7169203331',
  isParentRemote: true,
  tracestate: 'a=1',
  kind: 'client',
  attributes: {
    'http.route': '/orders',
    'http.response.status_code': 503,
    negative: -1,
    ratio: 0.5,
    huge: 2n ** 64n - 1n,
    large: 2n ** 62n,
    yes: true,
    list: ['a', 'b'],
    gone: undefined,
  },
  status: 'error',
  message: 'upstream reset',
}

const asProtobuf = () => encodeBatch([encodeSpan(FULL), encodeSpan(PLAIN)], SOURCE)
const asJson = () => encodeBatchAsJson([FULL, PLAIN].map(encodeSpanAsJson), SOURCE)

describe('spans as protobuf', () => {
  it('contain all fields', () => {
    const [full, plain] = decode(asProtobuf())
    assert.deepEqual(full, {
      resource: { 'service.name': { stringValue: 'portcullis' } },
      scope: SOURCE.scope,
      traceId: FULL.traceId,
      spanId: FULL.spanId,
      parentSpanId: 'b7ad6b7169203331',
      traceState: 'a=1',
      name: 'GET /orders',
      kind: 3,
      startTimeUnixNano: '1770091506123456000',
      endTimeUnixNano: '1770091506125000000',
      attributes: {
        'http.route': { stringValue: '/orders' },
        'http.response.status_code': { intValue: '503' },
        negative: { intValue: '-1' },
        ratio: { doubleValue: 0.5 },
        huge: { stringValue: '18446744073709551615' },
        large: { intValue: '4611686018427387904' },
        yes: { boolValue: true },
        list: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } },
      },
      status: { code: 2, message: 'upstream reset' },
      flags: 0x303,
    })
    assert.equal(plain?.name, 'plain')
    assert.equal(plain?.parentSpanId, undefined)
    assert.equal(plain?.status, undefined)
    assert.equal(plain?.flags, 3)
  })

  it('decode with the generated code, without unknown fields', () => {
    const property = fc.property(anySpan, (span) => {
      const written = encodeBatch([encodeSpan(span)], SOURCE)
      const read = fromBinary(ExportTraceServiceRequestSchema, written)
      assert.doesNotMatch(stringify(read), /\$unknown/)
      const [{ spans: [only] = [] } = {}] = read.resourceSpans[0]?.scopeSpans ?? []
      assert.equal(only?.name, span.name.toWellFormed())
      assert.equal(only?.startTimeUnixNano, BigInt(span.start) * 1000n)
      assert.equal(only?.attributes.length, Object.keys(span.attributes).length)
    })
    fc.assert(property)
  })
})

const anyText = fc.string({ unit: 'binary', maxLength: 200 })
const anySpan: fc.Arbitrary<Span> = fc.record({
  traceId: fc.constant(PLAIN.traceId),
  spanId: fc.constant(PLAIN.spanId),
  flags: fc.nat(255),
  parentId: fc.constantFrom('', PLAIN.spanId),
  isParentRemote: fc.boolean(),
  tracestate: anyText,
  kind: fc.constantFrom('internal', 'server', 'client'),
  name: anyText,
  start: fc.maxSafeNat(),
  end: fc.maxSafeNat(),
  attributes: fc.dictionary(
    anyText,
    fc.oneof(
      anyText,
      fc.double(),
      fc.maxSafeInteger(),
      fc.bigInt({ min: -(2n ** 65n), max: 2n ** 65n }),
      fc.boolean(),
      fc.array(anyText, { maxLength: 3 }),
    ),
    { maxKeys: 8 },
  ),
  status: fc.constantFrom('unset', 'ok', 'error'),
  message: anyText,
})

const stringify = (value: unknown) =>
  JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? String(inner) : inner))

describe('spans as JSON', () => {
  it('contain the same', () => {
    const [resourceSpans] = JSON.parse(String(asJson())).resourceSpans
    assert.deepEqual(resourceSpans.resource, {
      attributes: [{ key: 'service.name', value: { stringValue: 'portcullis' } }],
    })
    assert.deepEqual(resourceSpans.scopeSpans[0].scope, SOURCE.scope)
    const [first, second] = resourceSpans.scopeSpans[0].spans
    assert.deepEqual(first, {
      traceId: FULL.traceId,
      spanId: FULL.spanId,
      traceState: 'a=1',
      parentSpanId: 'b7ad6b7169203331',
      name: 'GET /orders',
      kind: 3,
      startTimeUnixNano: '1770091506123456000',
      endTimeUnixNano: '1770091506125000000',
      attributes: [
        { key: 'http.route', value: { stringValue: '/orders' } },
        { key: 'http.response.status_code', value: { intValue: '503' } },
        { key: 'negative', value: { intValue: '-1' } },
        { key: 'ratio', value: { doubleValue: 0.5 } },
        { key: 'huge', value: { stringValue: '18446744073709551615' } },
        { key: 'large', value: { intValue: '4611686018427387904' } },
        { key: 'yes', value: { boolValue: true } },
        {
          key: 'list',
          value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } },
        },
      ],
      status: { code: 2, message: 'upstream reset' },
      flags: 0x303,
    })
    assert.equal(second.name, 'plain')
    assert.equal(second.parentSpanId, undefined)
    assert.equal(second.status, undefined)
    assert.equal(second.flags, 3)
  })

  it('are JSON even for values without a JSON form', () => {
    const odd = { ...PLAIN, name: 'a\ud800', attributes: { n: Number.NaN, s: '\udc00"\n' } }
    const { name, attributes } = JSON.parse(String(encodeSpanAsJson(odd)))
    assert.equal(name, 'a\ufffd')
    assert.deepEqual(attributes, [
      { key: 'n', value: { doubleValue: 'NaN' } },
      { key: 's', value: { stringValue: '\ufffd"\n' } },
    ])
  })
})

describe('rejected spans in a response', () => {
  for (const [name, bytes, expected] of [
    ['none', [], 0],
    ['no partial success', [0x12, 1, 0x61], 0],
    ['two', [0x0a, 2, 0x08, 2], 2],
    ['many, and why', [0x0a, 6, 0x08, 0x90, 0x4e, 0x12, 1, 0x61], 10_000],
    ['of no sense', [0x0a, 9, 0x08], 0],
    ['of the wrong kind', [0x08, 5], 0],
  ] as const) {
    it(`${name}: ${expected}`, () => assert.equal(rejectedIn(Uint8Array.from(bytes)), expected))
  }

  for (const [text, expected] of [
    ['', 0],
    ['{}', 0],
    ['null', 0],
    ['{"partialSuccess":{}}', 0],
    ['{"partialSuccess":{"rejectedSpans":"3"}}', 3],
    ['{"partialSuccess":{"rejectedSpans":3}}', 3],
    ['{"partialSuccess":{"rejectedSpans":"-3"}}', 0],
    ['{"partialSuccess":{"rejectedSpans":{}}}', 0],
  ] as const) {
    it(`${text}: ${expected}`, () => assert.equal(rejectedInJson(Buffer.from(text)), expected))
  }
})

// The messages of opentelemetry-proto, from PyPI.
const PROGRAM = `
import json, sys
from google.protobuf.json_format import MessageToDict, Parse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
binary = ExportTraceServiceRequest.FromString(bytes.fromhex(sys.stdin.read()))
assert binary.SerializeToString() == ExportTraceServiceRequest.FromString(binary.SerializeToString()).SerializeToString()
print(json.dumps(MessageToDict(binary, use_integers_for_enums=True)))
`

function python(code: string, input: string) {
  const packages = join(import.meta.dirname, '../../.cache/python')
  const env = { ...process.env, PYTHONPATH: packages }
  return spawnSync('python3', ['-c', code], { input, env, encoding: 'utf8' })
}

const isThere = python('import opentelemetry.proto', '').status === 0
const skip = isThere
  ? false
  : 'no opentelemetry-proto: pip install --target .cache/python opentelemetry-proto'

describe('OpenTelemetry messages decoded in Python', { skip }, () => {
  it('contain the same for protobuf and JSON', () => {
    const { stdout, stderr } = python(PROGRAM, Buffer.from(asProtobuf()).toString('hex'))
    assert.equal(stderr, '')
    const read = JSON.parse(stdout)
    const sent = JSON.parse(String(asJson()))
    // OTLP writes IDs in hexadecimal; the JSON form of protobuf uses base64.
    for (const span of sent.resourceSpans[0].scopeSpans[0].spans) {
      for (const id of ['traceId', 'spanId', 'parentSpanId']) {
        if (span[id] !== undefined) span[id] = Buffer.from(span[id], 'hex').toString('base64')
      }
      if (span.attributes.length === 0) delete span.attributes
    }
    assert.deepEqual(read, sent)
  })
})

interface Decoded {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Pair[] }
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string; readonly version: string }
      readonly spans: readonly DecodedSpan[]
    }[]
  }[]
}

interface DecodedSpan {
  readonly traceId: Buffer
  readonly spanId: Buffer
  readonly parentSpanId?: Buffer
  readonly attributes?: readonly Pair[]
  readonly name: string
  readonly status?: object
  readonly flags: number
}

interface Pair {
  readonly key: string
  readonly value: object
}

/** ExportTraceServiceRequest, decoded by another implementation of protobuf. */
function decode(body: Uint8Array) {
  const name = 'opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest'
  return decodeByPeer<Decoded>(name, body).resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ scope, spans }) =>
      spans.map((span) => ({
        ...span,
        resource: attributes(resource.attributes),
        scope,
        traceId: span.traceId.toString('hex'),
        spanId: span.spanId.toString('hex'),
        parentSpanId: span.parentSpanId?.toString('hex'),
        attributes: attributes(span.attributes),
      })),
    ),
  )
}

function attributes(pairs: readonly Pair[] = []) {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value]))
}
