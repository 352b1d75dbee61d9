import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ALL_METRICS, CATALOGUE } from './catalogue.ts'
import type { MetricDefinition } from './definition.ts'
import { rendererOf } from './exposition.ts'
import { createMetrics } from './metrics.ts'

/** Max series of a metric with only closed labels: they cannot be folded. */
const MAX_CLOSED = 3000

type Check = readonly [name: string, holds: (metric: MetricDefinition) => boolean]

const CHECKS: readonly Check[] = [
  [
    'is named portcullis_…, or as OpenTelemetry names it',
    ({ name }) => /^(portcullis|gen_ai)(_[a-z0-9]+)+$/.test(name),
  ],
  [
    'has _total if it is a counter, and only then',
    (m) => isCounter(m) === m.name.endsWith('_total'),
  ],
  ['has _info if it is an info, and only then', (m) => isInfo(m) === m.name.endsWith('_info')],
  ['has a unit where its name does, and the same', (m) => unitInName(m) === m.unit],
  ['has no suffix that belongs to histograms', ({ name }) => !/_(bucket|sum|count)$/.test(name)],
  ['says what it is in one sentence', ({ help }) => /^[A-Z][^\n]{10,120}\.$/.test(help)],
  ['has labels of good names', ({ labels }) => labels.every(({ name }) => isLabelName(name))],
  [
    'has no label twice',
    ({ labels }) => new Set(labels.map(({ name }) => name)).size === labels.length,
  ],
  ['has at most three closed labels', ({ labels }) => labels.filter(isClosed).length <= 3],
  ['has few enough values in closed labels', (metric) => closedSeries(metric) <= MAX_CLOSED],
  ['has no closed label in a histogram', (m) => m.type !== 'histogram' || !m.labels.some(isClosed)],
  ['has ascending buckets', (m) => m.type !== 'histogram' || isAscending(m.bounds)],
]

describe('the catalogue', () => {
  for (const [name, holds] of CHECKS) {
    it(`every metric ${name}`, () => {
      const wrong = ALL_METRICS.filter((metric) => !holds(metric)).map((metric) => metric.name)
      assert.deepEqual(wrong, [])
    })
  }

  it('has each name once', () => {
    const names = ALL_METRICS.map(({ name }) => name)
    assert.deepEqual([...new Set(names)], names)
  })

  it('has no empty group', () => assert.ok(CATALOGUE.every(({ metrics }) => metrics.length > 0)))

  it('is the source of all metrics', () => {
    assert.equal([...createMetrics().read()].length, ALL_METRICS.length)
  })

  it('contains planned metrics, which a scrape omits', async () => {
    const planned = ALL_METRICS.filter(({ isPlanned }) => isPlanned === true)
    for (const format of ['prometheus', 'openmetrics', 'protobuf'] as const) {
      const render = await rendererOf(format)
      const pieces = render(createMetrics().read())
      const scraped = Array.from(pieces, (piece) => Buffer.from(piece).toString('latin1')).join('')
      assert.match(scraped, /portcullis_config_reloads/)
      assert.deepEqual(
        planned
          .map(({ name }) => name.replace(/_total$/, ''))
          .filter((name) => scraped.includes(name)),
        [],
      )
    }
  })
})

function isCounter({ type }: MetricDefinition): boolean {
  return type === 'counter'
}

function isInfo({ type }: MetricDefinition): boolean {
  return type === 'info'
}

function isClosed({ values }: MetricDefinition['labels'][number]): boolean {
  return values !== undefined
}

function unitInName({ name }: MetricDefinition): string | undefined {
  return /_(seconds|bytes|ratio|usd)(_total)?$/.exec(name)?.[1]
}

/** `le` and `quantile` belong to histograms and summaries, `job` and `instance` to the scraper. */
function isLabelName(name: string): boolean {
  return /^[a-z][a-z_]*$/.test(name) && !/^(le|quantile|job|instance)$/.test(name)
}

function closedSeries({ labels }: MetricDefinition): number {
  return labels.reduce((all, { values }) => all * (values?.length ?? 1), 1)
}

function isAscending(bounds: readonly number[]): boolean {
  return bounds.length > 0 && bounds.every((bound, i) => bound > (bounds[i - 1] ?? 0))
}
