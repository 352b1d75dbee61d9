import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { ALL_METRICS } from '../../src/telemetry/catalogue.ts'
import { DASHBOARD_ROWS } from '../../tools/charts/dashboard-rows.ts'

interface Target {
  readonly expr: string
  readonly legendFormat: string
}

interface Panel {
  readonly title: string
  readonly type: string
  readonly targets?: readonly Target[]
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
}

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { panels } = JSON.parse(read('charts/portcullis/files/dashboard.json')) as {
  readonly panels: readonly Panel[]
}
const page = read('docs/reference/metrics.md')
const GATEWAY = 'gateway_networking_k8s_io_gateway_name'

/** Labels that Prometheus itself and the PodMonitor add. */
const FROM_OUTSIDE = ['le', 'pod', GATEWAY]

describe('the dashboard', () => {
  for (const { title, targets = [] } of panels) {
    for (const { expr, legendFormat } of targets) {
      const used = Array.from(expr.matchAll(/portcullis_\w+/g), ([name]) => definitionOf(name))

      it(`${title}: every metric is in the reference`, () => {
        assert.ok(used.length > 0)
        for (const { name } of used) assert.ok(page.includes(`### ${name}\n`), name)
      })

      it(`${title}: every label is one that the metrics have`, () => {
        const labels = new Set([
          ...used.flatMap((one) => one.labels.map(({ name }) => name)),
          ...FROM_OUTSIDE,
        ])
        const inBraces = expr.matchAll(/(\w+)(?:!=|=~|!~|=)"/g)
        const grouped = Array.from(expr.matchAll(/by \(([^)]*)\)/g), ([, list = '']) =>
          list.split(/, /),
        )
        const legend = legendFormat.matchAll(/\{\{(\w+)\}\}/g)
        const all = [
          ...Array.from(inBraces, ([, name]) => name),
          ...grouped.flat(),
          ...Array.from(legend, ([, name]) => name),
        ]
        assert.deepEqual(
          all.filter((name) => !labels.has(name as string)),
          [],
        )
      })

      it(`${title}: every value that is asked for is one that the label has`, () => {
        for (const [, label, , values = ''] of expr.matchAll(/(\w+)(!=|=~|!~|=)"([^"$]+)"/g)) {
          const known = used.flatMap(
            ({ labels }) => labels.find(({ name }) => name === label)?.values ?? [],
          )
          for (const value of values.split('|'))
            assert.ok(known.includes(value), `${label}=${value}`)
        }
      })

      it(`${title}: only the gateways that were chosen`, () => {
        const ofProxies = expr.match(/portcullis_(?!controller_)/g) ?? []
        assert.equal(expr.split(`${GATEWAY}=~"$gateway"`).length - 1, ofProxies.length)
      })

      it(`${title}: something feeds every metric`, () => {
        assert.deepEqual(
          used.filter(({ isPlanned }) => isPlanned === true).map(({ name }) => name),
          [],
        )
      })
    }
  }

  it('has no row without panels', () => {
    for (const { title } of panels.filter(({ type }) => type === 'row')) {
      assert.notEqual(panelsOf(title).length, 0, title)
    }
  })

  // They are added to the dashboard with the metrics that they show.
  for (const [row, metric] of [
    ['LLM', 'portcullis_llm_tokens_total'],
    ['LLM', 'portcullis_llm_cost_usd_total'],
    ['MCP', 'portcullis_mcp_calls_total'],
    ['Controller', 'portcullis_controller_reconciles_total'],
    ['Controller', 'portcullis_controller_xds_connections'],
  ] as const) {
    it(`${row}: a panel is ready for ${metric}, and shown as soon as it is fed`, () => {
      const { panels: ready = [] } = DASHBOARD_ROWS.find(({ title }) => title === row) ?? {}
      const queries = ready.flatMap((panel) => Object.values(panel.queries))
      const named = new RegExp(`\\b${metric}\\b`)
      assert.ok(queries.some((query) => named.test(query)))
      const isShown = panels.some(({ targets = [] }) =>
        targets.some(({ expr }) => named.test(expr)),
      )
      assert.equal(isShown, definitionOf(metric).isPlanned !== true)
    })
  }

  for (const [row, metric] of [
    ['Traffic', 'portcullis_requests_total'],
    ['Authorization', 'portcullis_authorization_decisions_total'],
    ['Authentication', 'portcullis_authentication_failures_total'],
    ['Latency', 'portcullis_request_duration_seconds_bucket'],
    ['Configuration', 'portcullis_config_synchronized'],
  ] as const) {
    it(`${row}: shows ${metric}`, () => {
      const queries = panelsOf(row).flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
      assert.ok(queries.some((query) => new RegExp(`\\b${metric}\\b`).test(query)))
    })
  }

  it('no two panels overlap', () => {
    const cells = new Set<string>()
    for (const { title, gridPos } of panels) {
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          assert.ok(!cells.has(`${x},${y}`), title)
          cells.add(`${x},${y}`)
        }
      }
    }
  })
})

/** The panels below the title of a row, up to the next title. */
function panelsOf(row: string): readonly Panel[] {
  const from = panels.findIndex(({ type, title }) => type === 'row' && title === row)
  assert.notEqual(from, -1, row)
  const rest = panels.slice(from + 1)
  const to = rest.findIndex(({ type }) => type === 'row')
  return to === -1 ? rest : rest.slice(0, to)
}

/** Queries use the series of a histogram: `…_bucket`. */
function definitionOf(name: string) {
  const found = ALL_METRICS.find((metric) => {
    return metric.name === name || (metric.type === 'histogram' && `${metric.name}_bucket` === name)
  })
  assert.ok(found !== undefined, `nothing exports ${name}`)
  return found
}
