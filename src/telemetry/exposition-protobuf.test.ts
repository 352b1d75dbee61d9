import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { defineCounter } from './counter.ts'
import { seriesFolded } from './definitions/telemetry.ts'
import { renderMetrics } from './exposition.ts'
import { defineHistogram, type HistogramKind } from './histogram.ts'
import { label } from './label.ts'
import { createMetrics, type Metrics } from './metrics.ts'

const requests = defineCounter({
  name: 'test_requests_total',
  help: 'Requests.',
  labels: [label('route', 'the route')],
})
const time = defineHistogram({
  name: 'test_time_seconds',
  help: 'Time.',
  labels: [],
  unit: 'seconds',
  bounds: [0.5, 1],
})

function metricsOf(histograms: HistogramKind): Metrics {
  return createMetrics({
    catalogue: [requests, time, seriesFolded],
    histograms,
    now: () => 1_770_091_506_250,
  })
}

function histogramOf(kind: HistogramKind, values: readonly number[]): Message {
  const metrics = metricsOf(kind)
  const histogram = metrics.histogram(time).at({})
  for (const value of values) histogram.observe(value)
  const [family = {}] = scrape(metrics)
  const [metric = {}] = family['metric'] as Message[]
  return metric['histogram'] as Message
}

const CREATED = { seconds: 1_770_091_506n, nanos: 250_000_000 }

describe('the protobuf format', () => {
  it('is a message for each metric behind its length', () => {
    const metrics = metricsOf('classic')
    metrics.counter(requests).at({ route: 'a' }).inc(2.5)
    metrics
      .counter(requests)
      .at({ route: 'ü"\n'.repeat(100) })
      .inc()
    metrics.histogram(time).at({}).observe(0.75)
    assert.deepEqual(scrape(metrics), [
      {
        name: 'test_requests_total',
        help: 'Requests.',
        type: 0,
        metric: [
          { label: [{ name: 'route', value: 'a' }], counter: { value: 2.5, created: CREATED } },
          {
            label: [{ name: 'route', value: 'ü"\ufffd'.repeat(100) }],
            counter: { value: 1, created: CREATED },
          },
        ],
      },
      {
        name: 'test_time_seconds',
        help: 'Time.',
        type: 4,
        unit: 'seconds',
        metric: [
          {
            histogram: {
              count: 1n,
              sum: 0.75,
              bucket: [
                { cumulativeCount: 0n, upperBound: 0.5 },
                { cumulativeCount: 1n, upperBound: 1 },
                { cumulativeCount: 1n, upperBound: Number.POSITIVE_INFINITY },
              ],
              created: CREATED,
            },
          },
        ],
      },
    ])
  })

  for (const [name, values, spans, deltas, zero] of [
    ['no observation', [], [[0, 0]], [], 0n],
    ['one bucket', [1, 1, 1], [[0, 1]], [3n], 0n],
    ['zero only', [0, 0], [[0, 0]], [], 2n],
    ['below 1', [0.5], [[-8, 1]], [1n], 0n],
    ['short gaps are filled', [1, 1, 2 ** 0.375], [[0, 4]], [2n, -2n, 0n, 1n], 0n],
    [
      'long gaps begin a span',
      [0.5, 1, 1, 2],
      [
        [-8, 1],
        [7, 1],
        [7, 1],
      ],
      [1n, 1n, -1n],
      0n,
    ],
  ] as const) {
    it(`native: ${name}`, () => {
      const histogram = histogramOf('native', values)
      assert.equal(histogram['bucket'], undefined)
      assert.equal(histogram['schema'], 3)
      assert.equal(histogram['zeroThreshold'], 2 ** -128)
      assert.equal(histogram['zeroCount'], zero)
      assert.deepEqual(
        histogram['span'],
        spans.map(([offset, length]) => ({ offset, length })),
      )
      assert.deepEqual(histogram['delta'] ?? [], deltas)
    })
  }

  it('has both kinds of buckets if asked', () => {
    const histogram = histogramOf('both', [0.75])
    assert.equal((histogram['bucket'] as Message[]).length, 3)
    assert.deepEqual(histogram['delta'], [1n])
  })
})

/** What of a message is read how; an array stands for a repeated field. */
type Message = { [name: string]: unknown }
type Shape = { readonly [field: number]: readonly [name: string, read: Read | readonly [Read]] }
type Read =
  | Shape
  | 'string'
  | 'uint32'
  | 'uint64'
  | 'int64'
  | 'int32'
  | 'double'
  | 'sint32'
  | 'sint64'

const TIMESTAMP: Shape = { 1: ['seconds', 'int64'], 2: ['nanos', 'int32'] }
const FAMILY: Shape = {
  1: ['name', 'string'],
  2: ['help', 'string'],
  3: ['type', 'int32'],
  4: [
    'metric',
    [
      {
        1: ['label', [{ 1: ['name', 'string'], 2: ['value', 'string'] }]],
        3: ['counter', { 1: ['value', 'double'], 3: ['created', TIMESTAMP] }],
        7: [
          'histogram',
          {
            1: ['count', 'uint64'],
            2: ['sum', 'double'],
            3: ['bucket', [{ 1: ['cumulativeCount', 'uint64'], 2: ['upperBound', 'double'] }]],
            5: ['schema', 'sint32'],
            6: ['zeroThreshold', 'double'],
            7: ['zeroCount', 'uint64'],
            12: ['span', [{ 1: ['offset', 'sint32'], 2: ['length', 'uint32'] }]],
            13: ['delta', ['sint64']],
            15: ['created', TIMESTAMP],
          },
        ],
      },
    ],
  ],
  5: ['unit', 'string'],
}

function scrape(metrics: Metrics): readonly Message[] {
  const reader = new BinaryReader(
    Buffer.concat([...renderMetrics(metrics.read(), 'protobuf')] as Uint8Array[]),
  )
  const families: Message[] = []
  while (reader.pos < reader.len) families.push(readMessage(reader, FAMILY, reader.uint32()))
  return families
}

function readMessage(reader: BinaryReader, shape: Shape, length: number): Message {
  const message: Message = {}
  for (const end = reader.pos + length; reader.pos < end; ) {
    const [field] = reader.tag()
    const known = shape[field]
    assert.ok(known !== undefined, `field ${field}`)
    const [name, read] = known
    const kind = Array.isArray(read) ? (read[0] as Read) : (read as Read)
    const value = readValue(reader, kind)
    message[name] = Array.isArray(read) ? [...((message[name] ?? []) as unknown[]), value] : value
  }
  return message
}

function readValue(reader: BinaryReader, kind: Read): unknown {
  if (typeof kind === 'object') return readMessage(reader, kind, reader.uint32())
  const value = reader[kind]()
  return kind.endsWith('64') ? BigInt(value) : value
}
