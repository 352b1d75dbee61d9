import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { configInfo } from './definitions/configuration.ts'
import { requestDuration, requests } from './definitions/requests.ts'
import { rendererOf } from './exposition.ts'
import { createMetrics } from './metrics.ts'
import { watchProcess } from './process-metrics.ts'

// The parsers of prometheus_client, from PyPI. Both raise an error if a scrape violates their
// format.
const PACKAGES = join(import.meta.dirname, '../../.cache/python')

const PROGRAM = `
import json, sys
which, text = sys.argv[1], sys.stdin.read()
if which == 'openmetrics':
    from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
else:
    from prometheus_client.parser import text_string_to_metric_families as parse
print(json.dumps([
    [family.name, family.type, [[s.name, s.labels, s.value] for s in family.samples]]
    for family in parse(text)
]))
`

type Sample = readonly [name: string, labels: Readonly<Record<string, string>>, value: number]
type ParsedFamily = readonly [name: string, type: string, samples: readonly Sample[]]

function python(code: string, args: readonly string[], input: string) {
  const env = { ...process.env, PYTHONPATH: PACKAGES }
  return spawnSync('python3', ['-c', code, ...args], { input, env, encoding: 'utf8' })
}

const isThere = python('import prometheus_client', [], '').status === 0
const skip = isThere
  ? false
  : 'no prometheus_client: pip install --target .cache/python prometheus_client'

describe('the Prometheus parser, in Python', { skip }, () => {
  const odd = 'a "route" with \\ and Zoë 日本, le="1"'
  const metrics = createMetrics()
  const stop = watchProcess(metrics, { worker: 'main' })
  stop()
  metrics.gauge(configInfo).at({ hash: 'abc' }).set(1)
  const labels = { listener: 'gateway/https', route: odd }
  metrics.counter(requests).of(labels).at('GET', '2xx', 'upstream').inc(3)
  const duration = metrics.histogram(requestDuration).at(labels)
  for (const value of [0.0001, 0.3, 1000]) duration.observe(value)

  for (const format of ['prometheus', 'openmetrics'] as const) {
    it(`reads a whole scrape as ${format}`, async () => {
      const render = await rendererOf(format)
      const text = [...render(metrics.read())].join('')
      const { stdout, stderr } = python(PROGRAM, [format], text)
      assert.equal(stderr, '')
      const families = JSON.parse(stdout) as readonly ParsedFamily[]
      const samples = families.flatMap(([, , samples]) => samples)
      const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
      assert.equal(samples.length, lines.length)
      assert.deepEqual(
        samples.find(([name]) => name === 'portcullis_requests_total'),
        [
          'portcullis_requests_total',
          { ...labels, method: 'GET', status: '2xx', reason: 'upstream' },
          3,
        ],
      )
      const counts = samples.filter(
        ([name]) => name === 'portcullis_request_duration_seconds_bucket',
      )
      assert.deepEqual(
        counts.map(([, , value]) => value),
        [1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3],
      )
    })
  }
})
