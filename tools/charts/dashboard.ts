import { ALL_METRICS } from '../../src/telemetry/catalogue.ts'
import type { Generator } from '../generated.ts'
import { DASHBOARD_ROWS } from './dashboard-rows.ts'
import type { Panel, Row } from './panel.ts'

/** Generates the Grafana dashboard of the control plane's chart. */
export const dashboard: Generator = {
  name: 'dashboard',
  folders: [],
  generate: () => new Map([['charts/portcullis/files/dashboard.json', renderDashboard()]]),
}

/** The pod label `gateway.networking.k8s.io/gateway-name`, as Prometheus spells it. */
const GATEWAY = 'gateway_networking_k8s_io_gateway_name'
const WIDTH = 24
const HEIGHT = 8

function renderDashboard(): string {
  const panels: unknown[] = []
  let id = 0
  let y = 0
  for (const { title, panels: inRow } of shownRows()) {
    panels.push({ id: ++id, type: 'row', title, collapsed: false, gridPos: grid(0, y, WIDTH, 1) })
    y += 1
    let x = 0
    for (const panel of inRow) {
      const width = panel.width ?? 8
      if (x + width > WIDTH) {
        x = 0
        y += HEIGHT
      }
      panels.push({ id: ++id, ...renderPanel(panel), gridPos: grid(x, y, width, HEIGHT) })
      x += width
    }
    y += HEIGHT
  }
  const text = {
    uid: 'portcullis',
    title: 'Portcullis',
    tags: ['portcullis'],
    schemaVersion: 39,
    version: 1,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    timezone: 'browser',
    editable: true,
    graphTooltip: 1,
    templating: { list: [DATASOURCE, gatewayVariable()] },
    panels,
  }
  return `${JSON.stringify(text, undefined, 2)}\n`
}

const DATASOURCE = {
  name: 'datasource',
  label: 'Data source',
  type: 'datasource',
  query: 'prometheus',
}

/** Selects all gateways by default, which includes standalone chart pods without the label. */
function gatewayVariable() {
  return {
    name: 'gateway',
    label: 'Gateway',
    type: 'query',
    datasource: SOURCE,
    query: `label_values(portcullis_build_info, ${GATEWAY})`,
    refresh: 2,
    includeAll: true,
    allValue: '.*',
    multi: true,
    current: { text: 'All', value: '$__all' },
  }
}

const SOURCE = { type: 'prometheus', uid: '$datasource' }

function renderPanel({ title, description, kind = 'timeseries', unit, queries }: Panel) {
  const isTable = kind === 'table'
  return {
    type: kind,
    title,
    description,
    datasource: SOURCE,
    fieldConfig: { defaults: { unit: unit ?? 'short', min: 0 }, overrides: [] },
    options: isTable ? {} : { legend: { displayMode: 'list', placement: 'bottom' } },
    targets: Object.entries(queries).map(([legend, query], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource: SOURCE,
      expr: selectGateway(query),
      legendFormat: legend,
      ...(isTable ? { format: 'table', instant: true } : {}),
    })),
    ...(isTable ? { transformations: [HIDE_TIME] } : {}),
  }
}

const HIDE_TIME = { id: 'organize', options: { excludeByName: { Time: true } } }

/** Leaves out metrics that are not implemented yet: an empty panel looks like a user error. */
function shownRows(): readonly Row[] {
  const rows = DASHBOARD_ROWS.map(({ title, panels }) => ({
    title,
    panels: panels.flatMap((panel) => {
      const queries = Object.entries(panel.queries).filter(([, query]) => !isPlanned(query))
      return queries.length === 0 ? [] : [{ ...panel, queries: Object.fromEntries(queries) }]
    }),
  }))
  return rows.filter(({ panels }) => panels.length > 0)
}

function isPlanned(query: string): boolean {
  const names = Array.from(query.matchAll(/portcullis_\w+/g), ([name]) =>
    name.replace(/_bucket$/, ''),
  )
  return ALL_METRICS.some((metric) => metric.isPlanned === true && names.includes(metric.name))
}

/** Restricts proxy metrics to the selected gateway. Controller metrics cover all gateways. */
function selectGateway(query: string): string {
  const chosen = `${GATEWAY}=~"$gateway"`
  return query.replaceAll(
    /(portcullis_(?!controller_)\w+)(\{([^}]*)\})?/g,
    (_all, name, _braces, labels) => {
      return labels === undefined ? `${name}{${chosen}}` : `${name}{${labels}, ${chosen}}`
    },
  )
}

function grid(x: number, y: number, w: number, h: number) {
  return { x, y, w, h }
}
