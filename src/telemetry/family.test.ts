import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineCounter } from './counter.ts'
import { seriesFolded } from './definitions/telemetry.ts'
import { defineGauge } from './gauge.ts'
import { defineHistogram } from './histogram.ts'
import { label } from './label.ts'
import { createMetrics, type Metrics, type MetricsOptions } from './metrics.ts'

const ROUTE = label('route', 'the route')
const STATUS = label('status', 'class of the status', ['2xx', '4xx', '5xx'])

const hits = defineCounter({
  name: 'test_hits_total',
  help: 'Hits.',
  labels: [label('listener', 'the listener'), ROUTE, STATUS],
  takesCustomLabels: true,
})
const outcomes = defineCounter({
  name: 'test_outcomes_total',
  help: 'Outcomes.',
  labels: [label('outcome', 'which', ['good', 'bad'])],
})
const open = defineGauge({ name: 'test_open', help: 'Open.', labels: [ROUTE] })
const time = defineHistogram({
  name: 'test_seconds',
  help: 'Time.',
  labels: [ROUTE],
  bounds: [1, 2, 3, 4, 5, 6, 7],
})

function metricsOf(options: MetricsOptions = {}): Metrics {
  return createMetrics({ catalogue: [hits, outcomes, open, time, seriesFolded], ...options })
}

/** `label,label=value` for each series. */
function reported(metrics: Metrics, name: string): readonly string[] {
  const metric = [...metrics.read()].find(({ definition }) => definition.name === name)
  return [...(metric?.series ?? [])].map((series) => {
    return `${series.labels.join(',')}=${'value' in series ? series.value : series.count}`
  })
}

describe('series', () => {
  it('are found by all labels or by the open ones first', () => {
    const metrics = metricsOf()
    const family = metrics.counter(hits)
    family.at({ listener: 'a', route: 'r', status: '2xx' }).inc()
    family.of({ listener: 'a', route: 'r' }).at('2xx').inc(2)
    const slice = family.of({ route: 'r', listener: 'a' })
    for (const status of ['2xx', '4xx', '2xx', '4xx'] as const) slice.at(status).inc()
    assert.equal(slice.at('2xx'), family.at({ listener: 'a', route: 'r', status: '2xx' }))
    assert.deepEqual(reported(metrics, 'test_hits_total'), ['a,r,2xx=5', 'a,r,4xx=2'])
  })

  it('are not confused by similar values', () => {
    const metrics = metricsOf()
    const family = metrics.counter(hits)
    family.of({ listener: 'a,b', route: 'c' }).at('2xx').inc()
    family.of({ listener: 'a', route: 'b,c' }).at('2xx').inc()
    family.of({ listener: 'a\0b', route: 'c' }).at('2xx').inc()
    family.of({ listener: 'a', route: 'b\0c' }).at('2xx').inc()
    family.of({ listener: 'a\0b\0', route: '' }).at('2xx').inc()
    assert.deepEqual(reported(metrics, 'test_hits_total'), [
      'a,b,c,2xx=1',
      'a,b,c,2xx=1',
      'a\ufffdb,c,2xx=1',
      'a,b\ufffdc,2xx=1',
      'a\ufffdb\ufffd,,2xx=1',
    ])
  })

  it('with an unknown value of a closed label count as other', () => {
    const metrics = metricsOf()
    const slice = metrics.counter(hits).of({ listener: 'a', route: 'r' })
    slice.at('302' as '2xx').inc()
    slice.at('__proto__' as '2xx').inc()
    slice.at('other').inc()
    assert.deepEqual(reported(metrics, 'test_hits_total'), ['a,r,other=3'])
  })

  it('sanitize label values', () => {
    const metrics = metricsOf()
    metrics.gauge(open).at({ route: 'a\u001b\r\u202e\ud800b' }).set(1)
    assert.deepEqual(reported(metrics, 'test_open'), ['a\ufffd\ufffd\ufffd\ufffdb=1'])
  })

  it('with closed labels only exist from the start, at 0', () => {
    assert.deepEqual(reported(metricsOf(), 'test_outcomes_total'), ['good=0', 'bad=0', 'other=0'])
  })

  it('exist only for metrics in the catalogue', () => {
    const stranger = defineCounter({ name: 'stranger_total', help: '', labels: [] })
    assert.throws(() => metricsOf().counter(stranger), /stranger_total is not in the catalogue/)
  })

  it('require open labels before closed ones', () => {
    const wrong = defineCounter({ name: 'wrong_total', help: '', labels: [STATUS, ROUTE] })
    assert.throws(() => createMetrics({ catalogue: [wrong] }), /open labels come before closed/)
  })
})

describe('too many series', () => {
  it('become other, by closed labels still, and are counted', () => {
    const metrics = metricsOf({ maximumSeries: 3 })
    const family = metrics.counter(hits)
    for (let i = 0; i < 6; i++) {
      family
        .of({ listener: 'a', route: `r${i}` })
        .at(i === 5 ? '5xx' : '2xx')
        .inc()
    }
    assert.deepEqual(reported(metrics, 'test_hits_total'), [
      'a,r0,2xx=1',
      'a,r1,2xx=1',
      'a,r2,2xx=1',
      'other,other,2xx=2',
      'other,other,5xx=1',
    ])
    assert.deepEqual(reported(metrics, 'portcullis_metrics_series_folded_total'), [
      'test_hits_total=3',
    ])
  })

  it('do not affect existing series', () => {
    const metrics = metricsOf({ maximumSeries: 1 })
    const family = metrics.counter(hits)
    const first = family.of({ listener: 'a', route: 'r' })
    first.at('2xx').inc()
    first.at('4xx').inc()
    first.at('2xx').inc()
    assert.deepEqual(reported(metrics, 'test_hits_total'), ['a,r,2xx=2', 'other,other,4xx=1'])
  })

  it('are counted as a scraper does: seven classic buckets are ten series', () => {
    for (const [histograms, own] of [
      ['classic', 2],
      ['both', 2],
      ['native', 25],
    ] as const) {
      const metrics = metricsOf({ maximumSeries: 25, histograms })
      const family = metrics.histogram(time)
      for (let i = 0; i < 30; i++) family.at({ route: `r${i}` }).observe(1)
      const series = reported(metrics, 'test_seconds')
      assert.equal(series.filter((each) => !each.startsWith('other')).length, own)
      assert.equal(series.at(-1), `other=${30 - own}`)
    }
  })

  it('get room again when others are removed', () => {
    const metrics = metricsOf({ maximumSeries: 1 })
    const family = metrics.counter(hits)
    const old = family.of({ listener: 'a', route: 'old' })
    const next = family.of({ listener: 'a', route: 'new' })
    old.at('2xx').inc()
    next.at('2xx').inc()
    metrics.gauge(open).at({ route: 'old' }).set(1)
    metrics.forget('route', 'old')
    next.at('2xx').inc()
    assert.deepEqual(reported(metrics, 'test_hits_total'), ['other,other,2xx=1', 'a,new,2xx=1'])
    assert.deepEqual(reported(metrics, 'test_open'), [])
  })

  it('are not lost for holders of a slice that was removed and recreated', () => {
    const metrics = metricsOf()
    const slice = metrics.counter(hits).of({ listener: 'a', route: 'r' })
    slice.at('2xx').inc(5)
    metrics.forget('route', 'r')
    slice.at('2xx').inc()
    metrics.counter(hits).of({ listener: 'a', route: 'r' }).at('2xx').inc()
    assert.deepEqual(reported(metrics, 'test_hits_total'), ['a,r,2xx=2'])
  })
})

describe('custom labels', () => {
  const custom = (maximumSeries = 100) => metricsOf({ customLabels: ['team'], maximumSeries })

  it('follow the others, and are unknown without a value', () => {
    const metrics = custom()
    const slice = metrics.counter(hits).of({ listener: 'a', route: 'r' })
    slice.with(['red']).at('2xx').inc()
    slice.with(['red']).at('2xx').inc()
    slice.with([]).at('2xx').inc()
    slice.at('2xx').inc()
    metrics.gauge(open).at({ route: 'r' }).set(1)
    assert.deepEqual(reported(metrics, 'test_hits_total'), ['a,r,2xx,red=2', 'a,r,2xx,unknown=2'])
    assert.deepEqual(reported(metrics, 'test_open'), ['r=1'])
  })

  it('become other when there are too many', () => {
    const metrics = custom(3)
    const slice = metrics.counter(hits).of({ listener: 'a', route: 'r' })
    for (let i = 0; i < 10; i++)
      slice
        .with([`team ${i}`])
        .at('2xx')
        .inc()
    assert.deepEqual(reported(metrics, 'test_hits_total').at(-1), 'other,other,2xx,other=7')
    slice.with(['team 1']).at('2xx').inc()
    assert.equal(reported(metrics, 'test_hits_total')[1], 'a,r,2xx,team 1=2')
  })
})

describe('removed metrics', () => {
  it('are not exported, and use no series', () => {
    const metrics = metricsOf({ remove: ['test_hits_total'] })
    const slice = metrics.counter(hits).of({ listener: 'a', route: 'r' })
    slice.at('2xx').inc()
    assert.deepEqual(reported(metrics, 'test_hits_total'), [])
    assert.deepEqual(reported(metrics, 'portcullis_metrics_series_folded_total'), [])
    assert.deepEqual(slice.at('2xx').labels, ['other', 'other', '2xx'])
  })
})
