import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineCounter } from './counter.ts'
import { seriesFolded } from './definitions/telemetry.ts'
import { type ExpositionFormat, type MetricView, rendererOf } from './exposition.ts'
import { defineGauge } from './gauge.ts'
import { defineHistogram } from './histogram.ts'
import { label } from './label.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { merge } from './snapshot.ts'

const ROUTE = label('route', 'the route')
const hits = defineCounter({ name: 'test_hits_total', help: 'Hits.', labels: [ROUTE] })
const open = defineGauge({ name: 'test_open', help: 'Open.', labels: [] })
const inStep = defineGauge({ name: 'test_in_step', help: 'In step.', labels: [], merge: 'min' })
const oldest = defineGauge({ name: 'test_oldest', help: 'Oldest.', labels: [], merge: 'max' })
const time = defineHistogram({ name: 'test_time', help: 'Time.', labels: [], bounds: [1, 2] })
const catalogue = [hits, open, inStep, oldest, time, seriesFolded]

function worker(number: number): Metrics {
  const metrics = createMetrics({ catalogue, histograms: 'both', now: () => number * 1000 })
  metrics.counter(hits).at({ route: 'both' }).inc(number)
  metrics
    .counter(hits)
    .at({ route: `only ${number}` })
    .inc()
  metrics.gauge(open).at({}).set(number)
  metrics
    .gauge(inStep)
    .at({})
    .set(number === 2 ? 0 : 1)
  metrics
    .gauge(oldest)
    .at({})
    .set(number * 10)
  for (const value of [0.5, number, 1e-6 ** number]) metrics.histogram(time).at({}).observe(value)
  return metrics
}

async function text(views: Iterable<MetricView>, format: ExpositionFormat): Promise<string> {
  const pieces = [...(await rendererOf(format))(views)]
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece as string))).toString('latin1')
}

/** The snapshot as another process receives it. */
function sent(metrics: Metrics) {
  return JSON.parse(JSON.stringify(metrics.snapshot()))
}

describe('a snapshot', () => {
  for (const format of ['prometheus', 'openmetrics', 'protobuf'] as const) {
    it(`tells the same as its process, as ${format}`, async () => {
      const metrics = worker(1)
      const merged = await text(merge([sent(metrics)], catalogue), format)
      assert.equal(merged, await text(metrics.read(), format))
    })
  }
})

describe('snapshots of several workers', () => {
  it('are summed, or the min or max is used', async () => {
    const merged = merge([1, 2, 3].map(worker).map(sent), catalogue)
    const lines = (await text(merged, 'prometheus')).split('\n')
    assert.deepEqual(
      lines.filter((line) => !line.startsWith('#') && line !== ''),
      [
        'test_hits_total{route="both"} 6',
        'test_hits_total{route="only 1"} 1',
        'test_hits_total{route="only 2"} 1',
        'test_hits_total{route="only 3"} 1',
        'test_open 6',
        'test_in_step 0',
        'test_oldest 30',
        'test_time_bucket{le="1"} 7',
        'test_time_bucket{le="2"} 8',
        'test_time_bucket{le="+Inf"} 9',
        'test_time_sum 7.500001000001',
        'test_time_count 9',
      ],
    )
  })

  it('merge native buckets, and keep the earliest start', () => {
    const merged = merge([1, 2, 3].map(worker).map(sent), catalogue)
    const [series] = [...(merged.find(({ definition }) => definition === time)?.series ?? [])]
    assert.ok(series !== undefined && 'native' in series)
    assert.equal(series.created, 1000)
    const counts = Array.from(series.native?.counts ?? [])
    assert.equal(
      counts.reduce((a, b) => a + b, 0),
      9,
    )
  })

  it('are empty without workers', () => assert.deepEqual(merge([], catalogue), []))
})
