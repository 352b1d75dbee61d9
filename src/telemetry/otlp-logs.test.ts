import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fromBinary } from '@bufbuild/protobuf'
import fc from 'fast-check'
import { ExportLogsServiceRequestSchema } from '../protobuf/generated/opentelemetry/proto/collector/logs/v1/logs_service_pb.ts'
import { encodeLogBatch, encodeLogRecord, type LogRecord, rejectedLogsIn } from './otlp-logs.ts'

const SOURCE = {
  resource: { 'service.name': 'portcullis' },
  scope: { name: 'portcullis', version: '0.1.0' },
} as const

const RECORD: LogRecord = {
  time: 1_770_091_506_123_456,
  body: 'request',
  traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
  spanId: '00f067aa0ba902b7',
  attributes: { 'http.status': 503, duration: 1.5, tags: ['a', 'b'], isNew: true, gone: undefined },
}

const written = (...records: readonly LogRecord[]) =>
  encodeLogBatch(records.map(encodeLogRecord), SOURCE)

describe('log records as protobuf', () => {
  it('decode with the generated code, without unknown fields', () => {
    const text = fc.string({ unit: 'binary', maxLength: 100 })
    const value = fc.oneof(text, fc.double(), fc.maxSafeInteger(), fc.boolean(), fc.array(text))
    const record = fc.record({
      time: fc.maxSafeNat(),
      body: text,
      traceId: fc.constantFrom('', RECORD.traceId),
      spanId: fc.constantFrom('', RECORD.spanId),
      attributes: fc.dictionary(text, value, { maxKeys: 8 }),
    })
    const property = fc.property(fc.array(record, { minLength: 1, maxLength: 3 }), (records) => {
      const read = fromBinary(ExportLogsServiceRequestSchema, written(...records))
      assert.doesNotMatch(stringify(read), /\$unknown/)
      const { logRecords = [] } = read.resourceLogs[0]?.scopeLogs[0] ?? {}
      assert.equal(logRecords.length, records.length)
      for (const [at, one] of records.entries()) {
        const seen = logRecords[at] ?? assert.fail()
        assert.equal(seen.timeUnixNano, BigInt(one.time) * 1000n)
        assert.equal(Buffer.from(seen.traceId).toString('hex'), one.traceId)
        assert.equal(Buffer.from(seen.spanId).toString('hex'), one.spanId)
        assert.equal(seen.attributes.length, Object.keys(one.attributes).length)
      }
    })
    fc.assert(property)
  })

  for (const [name, bytes, expected] of [
    ['none', [], 0],
    ['two', [0x0a, 2, 0x08, 2], 2],
    ['of no sense', [0x0a, 9, 0x08], 0],
  ] as const) {
    it(`were not taken, ${name}: ${expected}`, () =>
      assert.equal(rejectedLogsIn(Uint8Array.from(bytes)), expected))
  }
})

const stringify = (value: unknown) =>
  JSON.stringify(value, (_, inner) => (typeof inner === 'bigint' ? String(inner) : inner))

// The messages of opentelemetry-proto, from PyPI.
const PROGRAM = `
import json, sys
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
binary = ExportLogsServiceRequest.FromString(bytes.fromhex(sys.stdin.read()))
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

describe('log records decoded in Python', { skip }, () => {
  it('follow the OpenTelemetry schema', () => {
    const { stdout, stderr } = python(PROGRAM, Buffer.from(written(RECORD)).toString('hex'))
    assert.equal(stderr, '')
    const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64')
    const { resourceLogs } = JSON.parse(stdout)
    assert.deepEqual(resourceLogs[0].resource.attributes, [
      { key: 'service.name', value: { stringValue: 'portcullis' } },
    ])
    assert.deepEqual(resourceLogs[0].scopeLogs[0], {
      scope: SOURCE.scope,
      logRecords: [
        {
          timeUnixNano: '1770091506123456000',
          observedTimeUnixNano: '1770091506123456000',
          severityNumber: 9,
          severityText: 'INFO',
          body: { stringValue: 'request' },
          traceId: base64(RECORD.traceId),
          spanId: base64(RECORD.spanId),
          attributes: [
            { key: 'http.status', value: { intValue: '503' } },
            { key: 'duration', value: { doubleValue: 1.5 } },
            {
              key: 'tags',
              value: { arrayValue: { values: [{ stringValue: 'a' }, { stringValue: 'b' }] } },
            },
            { key: 'isNew', value: { boolValue: true } },
          ],
        },
      ],
    })
  })
})
