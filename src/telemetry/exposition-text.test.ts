import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { defineCounter } from './counter.ts'
import { seriesFolded } from './definitions/telemetry.ts'
import { renderOpenMetrics, renderPrometheus } from './exposition-text.ts'
import { defineGauge, defineInfo } from './gauge.ts'
import { defineHistogram, type HistogramKind } from './histogram.ts'
import { label } from './label.ts'
import { createMetrics } from './metrics.ts'

const requests = defineCounter({
  name: 'test_requests_total',
  help: 'Requests with "quotes",\nlines and \\.',
  labels: [label('route', 'the route'), label('status', 'class', ['2xx', '5xx'])],
})
const bytes = defineCounter({
  name: 'test_sent_bytes_total',
  help: 'Bytes.',
  labels: [],
  unit: 'bytes',
})
const open = defineGauge({ name: 'test_open', help: 'Open.', labels: [] })
const build = defineInfo({
  name: 'test_build_info',
  help: 'Build.',
  labels: [label('version', 'the version')],
})
const time = defineHistogram({
  name: 'test_time_seconds',
  help: 'Time.',
  labels: [label('route', 'the route')],
  unit: 'seconds',
  bounds: [0.5, 1, 2.5],
})
const unused = defineGauge({ name: 'test_unused', help: 'Unused.', labels: [] })

type TextFormat = 'prometheus' | 'openmetrics'

function scrape(format: TextFormat, histograms: HistogramKind = 'classic'): string {
  const catalogue = [requests, bytes, open, build, time, unused, seriesFolded]
  const metrics = createMetrics({ catalogue, histograms })
  const slice = metrics.counter(requests).of({ route: 'a"b\\c' })
  slice.at('2xx').inc(3)
  slice.at('5xx').inc()
  metrics.counter(bytes).at({}).inc(1e21)
  metrics.gauge(open).at({}).set(-1.5)
  metrics.gauge(build).at({ version: '1.2.3' }).set(1)
  const histogram = metrics.histogram(time).at({ route: 'r' })
  for (const value of [0.25, 0.5, 0.75, 3]) histogram.observe(value)
  const render = format === 'openmetrics' ? renderOpenMetrics : renderPrometheus
  return [...render(metrics.read())].join('')
}

describe('the Prometheus text format', () => {
  it('follows the syntax of the parser', () => {
    assert.equal(
      scrape('prometheus'),
      String.raw`# HELP test_requests_total Requests with "quotes",\nlines and \\.
# TYPE test_requests_total counter
test_requests_total{route="a\"b\\c",status="2xx"} 3
test_requests_total{route="a\"b\\c",status="5xx"} 1
# HELP test_sent_bytes_total Bytes.
# TYPE test_sent_bytes_total counter
test_sent_bytes_total 1e+21
# HELP test_open Open.
# TYPE test_open gauge
test_open -1.5
# HELP test_build_info Build.
# TYPE test_build_info gauge
test_build_info{version="1.2.3"} 1
# HELP test_time_seconds Time.
# TYPE test_time_seconds histogram
test_time_seconds_bucket{route="r",le="0.5"} 2
test_time_seconds_bucket{route="r",le="1"} 3
test_time_seconds_bucket{route="r",le="2.5"} 3
test_time_seconds_bucket{route="r",le="+Inf"} 4
test_time_seconds_sum{route="r"} 4.5
test_time_seconds_count{route="r"} 4
`,
    )
  })

  it('has only the +Inf bucket for a native histogram', () => {
    const lines = scrape('prometheus', 'native').split('\n')
    assert.deepEqual(
      lines.filter((line) => line.startsWith('test_time')),
      [
        'test_time_seconds_bucket{route="r",le="+Inf"} 4',
        'test_time_seconds_sum{route="r"} 4.5',
        'test_time_seconds_count{route="r"} 4',
      ],
    )
  })
})

describe('OpenMetrics', () => {
  it('names families without suffix, includes units, and ends with EOF', () => {
    assert.equal(
      scrape('openmetrics'),
      String.raw`# HELP test_requests Requests with \"quotes\",\nlines and \\.
# TYPE test_requests counter
test_requests_total{route="a\"b\\c",status="2xx"} 3
test_requests_total{route="a\"b\\c",status="5xx"} 1
# HELP test_sent_bytes Bytes.
# TYPE test_sent_bytes counter
# UNIT test_sent_bytes bytes
test_sent_bytes_total 1e+21
# HELP test_open Open.
# TYPE test_open gauge
test_open -1.5
# HELP test_build Build.
# TYPE test_build info
test_build_info{version="1.2.3"} 1
# HELP test_time_seconds Time.
# TYPE test_time_seconds histogram
# UNIT test_time_seconds seconds
test_time_seconds_bucket{route="r",le="0.5"} 2
test_time_seconds_bucket{route="r",le="1.0"} 3
test_time_seconds_bucket{route="r",le="2.5"} 3
test_time_seconds_bucket{route="r",le="+Inf"} 4
test_time_seconds_sum{route="r"} 4.5
test_time_seconds_count{route="r"} 4
# EOF
`,
    )
  })
})

describe('a scrape', () => {
  it('is generated lazily, in pieces', () => {
    const metrics = createMetrics({ catalogue: [requests, seriesFolded] })
    const family = metrics.counter(requests)
    for (let i = 0; i < 2000; i++)
      family
        .of({ route: `route ${i}` })
        .at('2xx')
        .inc()
    const pieces = renderPrometheus(metrics.read())[Symbol.iterator]()
    const first = pieces.next().value as string
    assert.ok(first.length > 32_000 && first.length < 33_000)
    family.of({ route: 'route 1999' }).at('2xx').inc()
    let last = ''
    for (let next = pieces.next(); !next.done; next = pieces.next()) last = next.value as string
    assert.ok(last.endsWith('test_requests_total{route="route 1999",status="2xx"} 2\n'))
  })
})
