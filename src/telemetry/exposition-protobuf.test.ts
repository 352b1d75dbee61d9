import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decodeDelimitedByPeer } from '../../test/proxy/protobuf-peer.ts'
import { defineCounter } from './counter.ts'
import { seriesFolded } from './definitions/telemetry.ts'
import { renderProtobuf } from './exposition-protobuf.ts'
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

const CREATED = { seconds: '1770091506', nanos: 250_000_000 }

describe('the protobuf format', () => {
  it('is a length-prefixed message per metric', () => {
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
          {
            label: [{ name: 'route', value: 'a' }],
            counter: { value: 2.5, createdTimestamp: CREATED },
          },
          {
            label: [{ name: 'route', value: 'ü"\ufffd'.repeat(100) }],
            counter: { value: 1, createdTimestamp: CREATED },
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
              sampleCount: '1',
              sampleSum: 0.75,
              bucket: [
                { cumulativeCount: '0', upperBound: 0.5 },
                { cumulativeCount: '1', upperBound: 1 },
                { cumulativeCount: '1', upperBound: Number.POSITIVE_INFINITY },
              ],
              createdTimestamp: CREATED,
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
      assert.equal(histogram['zeroCount'], String(zero))
      assert.deepEqual(
        histogram['positiveSpan'],
        spans.map(([offset, length]) => ({ offset, length })),
      )
      assert.deepEqual(histogram['positiveDelta'] ?? [], deltas.map(String))
    })
  }

  it('has both kinds of buckets if configured', () => {
    const histogram = histogramOf('both', [0.75])
    assert.equal((histogram['bucket'] as Message[]).length, 3)
    assert.deepEqual(histogram['positiveDelta'], ['1'])
  })
})

type Message = { readonly [name: string]: unknown }

/** Decoded by another implementation of protobuf. */
function scrape(metrics: Metrics): readonly Message[] {
  const bytes = Buffer.concat([...renderProtobuf(metrics.read())])
  return decodeDelimitedByPeer('io.prometheus.client.MetricFamily', bytes)
}
