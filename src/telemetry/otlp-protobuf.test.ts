import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { encodeBatchAsJson, encodeSpanAsJson, rejectedInJson } from './otlp-json.ts'
import { encodeBatch, encodeSpan, rejectedIn } from './otlp-protobuf.ts'
import { type ProtobufValue, readProtobuf } from './protobuf-reader.ts'
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
  it('hold all that is known', () => {
    const [full, plain] = decode(asProtobuf())
    assert.deepEqual(
      [full],
      [
        {
          resource: { 'service.name': 'portcullis' },
          scope: ['portcullis', '0.1.0'],
          traceId: FULL.traceId,
          spanId: FULL.spanId,
          parentId: 'b7ad6b7169203331',
          tracestate: 'a=1',
          name: 'GET /orders',
          kind: 3n,
          start: 1_770_091_506_123_456_000n,
          end: 1_770_091_506_125_000_000n,
          attributes: {
            'http.route': '/orders',
            'http.response.status_code': 503n,
            negative: -1n,
            ratio: 0.5,
            huge: '18446744073709551615',
            large: 2n ** 62n,
            yes: true,
            list: ['a', 'b'],
          },
          status: [2n, 'upstream reset'],
          flags: 0x303,
        },
      ],
    )
    assert.equal(plain?.name, 'plain')
    assert.equal(plain?.parentId, '')
    assert.equal(plain?.status, undefined)
    assert.equal(plain?.flags, 3)
  })
})

describe('spans as JSON', () => {
  it('hold the same', () => {
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

  it('are JSON even of what JSON has no word for', () => {
    const odd = { ...PLAIN, name: 'a\ud800', attributes: { n: Number.NaN, s: '\udc00"\n' } }
    const { name, attributes } = JSON.parse(String(encodeSpanAsJson(odd)))
    assert.equal(name, 'a\ufffd')
    assert.deepEqual(attributes, [
      { key: 'n', value: { doubleValue: 'NaN' } },
      { key: 's', value: { stringValue: '\ufffd"\n' } },
    ])
  })
})

describe('spans that were not taken, by an answer', () => {
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

describe('the messages of OpenTelemetry, in Python', { skip }, () => {
  it('hold the same, whether protobuf or JSON was sent', () => {
    const { stdout, stderr } = python(PROGRAM, Buffer.from(asProtobuf()).toString('hex'))
    assert.equal(stderr, '')
    const read = JSON.parse(stdout)
    const sent = JSON.parse(String(asJson()))
    // OTLP writes ids in hexadecimal, where the JSON form of protobuf has base64.
    for (const span of sent.resourceSpans[0].scopeSpans[0].spans) {
      for (const id of ['traceId', 'spanId', 'parentSpanId']) {
        if (span[id] !== undefined) span[id] = Buffer.from(span[id], 'hex').toString('base64')
      }
      if (span.attributes.length === 0) delete span.attributes
    }
    assert.deepEqual(read, sent)
  })
})

type Fields = Map<number, ProtobufValue[]>

function message(value: ProtobufValue | undefined): Fields {
  const fields = readProtobuf(value as Uint8Array)
  assert.ok(fields !== undefined)
  return fields
}

function text(value: ProtobufValue | undefined): string {
  return Buffer.from(value as Uint8Array).toString()
}

/** ExportTraceServiceRequest, by its numbers. */
function decode(body: Uint8Array) {
  return (message(body).get(1) ?? []).flatMap((bytes) => {
    const resourceSpans = message(bytes)
    const resource = attributes(message(resourceSpans.get(1)?.[0]).get(1))
    return (resourceSpans.get(2) ?? []).flatMap((bytes) => {
      const scopeSpans = message(bytes)
      const scope = message(scopeSpans.get(1)?.[0])
      const names = [text(scope.get(1)?.[0]), text(scope.get(2)?.[0])]
      return (scopeSpans.get(2) ?? []).map((bytes) => ({
        resource,
        scope: names,
        ...decodeSpan(message(bytes)),
      }))
    })
  })
}

function decodeSpan(span: Fields) {
  const hex = (field: number) =>
    Buffer.from((span.get(field)?.[0] ?? []) as Uint8Array).toString('hex')
  const time = (field: number) => Buffer.from(span.get(field)?.[0] as Uint8Array).readBigUInt64LE()
  const status = span.get(15)?.[0]
  const decoded = status === undefined ? undefined : message(status)
  return {
    traceId: hex(1),
    spanId: hex(2),
    parentId: hex(4),
    tracestate: text(span.get(3)?.[0] ?? new Uint8Array()),
    name: text(span.get(5)?.[0]),
    kind: span.get(6)?.[0],
    start: time(7),
    end: time(8),
    attributes: attributes(span.get(9)),
    status: decoded && [decoded.get(3)?.[0], text(decoded.get(2)?.[0])],
    flags: Buffer.from(span.get(16)?.[0] as Uint8Array).readUInt32LE(),
  }
}

function attributes(pairs: readonly ProtobufValue[] = []) {
  return Object.fromEntries(
    pairs.map((bytes) => {
      const pair = message(bytes)
      return [text(pair.get(1)?.[0]), anyValue(message(pair.get(2)?.[0]))]
    }),
  )
}

function anyValue(value: Fields): unknown {
  const [[field, [inner]] = [0, []]] = value
  if (field === 1) return text(inner)
  if (field === 2) return inner === 1n
  if (field === 3) return BigInt.asIntN(64, inner as bigint)
  if (field === 4) return Buffer.from(inner as Uint8Array).readDoubleLE()
  return (message(inner).get(1) ?? []).map((each) => anyValue(message(each)))
}
