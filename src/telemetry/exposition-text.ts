import type { HistogramView, MetricView, NumberView } from './exposition.ts'
import type { HistogramDefinition } from './histogram.ts'
import type { Labels } from './label.ts'

/** Characters that are collected before they are passed on. */
const PIECE = 32 << 10

/** The differences between the two text formats. */
interface Dialect {
  /** The name in HELP and TYPE. */
  readonly familyName: (metric: MetricView) => string
  readonly type: (type: MetricView['definition']['type']) => string
  readonly hasUnits: boolean
  readonly bound: (bound: number) => string
  readonly helpEscapes: RegExp
  readonly end: string
}

const PROMETHEUS: Dialect = {
  familyName: ({ definition }) => definition.name,
  type: (type) => (type === 'info' ? 'gauge' : type),
  hasUnits: false,
  bound: String,
  helpEscapes: /[\\\n]/g,
  end: '',
}

const OPEN_METRICS: Dialect = {
  familyName: ({ definition: { name, type } }) => {
    if (type === 'counter') return name.replace(/_total$/, '')
    return type === 'info' ? name.replace(/_info$/, '') : name
  },
  type: (type) => type,
  hasUnits: true,
  // Scrapers compare bounds as strings, and the canonical form has a fraction.
  bound: (bound) => (Number.isInteger(bound) ? `${bound}.0` : String(bound)),
  helpEscapes: /[\\\n"]/g,
  end: '# EOF\n',
}

/** The text format 0.0.4. */
export function renderPrometheus(metrics: Iterable<MetricView>): Iterable<string> {
  return render(metrics, PROMETHEUS)
}

export function renderOpenMetrics(metrics: Iterable<MetricView>): Iterable<string> {
  return render(metrics, OPEN_METRICS)
}

function* render(metrics: Iterable<MetricView>, dialect: Dialect): Generator<string> {
  let piece = ''
  for (const metric of metrics) {
    const { definition, labelNames } = metric
    const bounds = definition.type === 'histogram' ? boundTexts(definition, dialect) : []
    let isFirst = true
    for (const series of metric.series) {
      if (isFirst) piece += renderHead(metric, dialect)
      isFirst = false
      const labels = renderLabels(labelNames, series.labels)
      if ('value' in series) piece += renderNumber(definition.name, labels, series)
      else piece += renderHistogram(definition.name, labels, series, bounds)
      if (piece.length < PIECE) continue
      yield piece
      piece = ''
    }
  }
  yield piece + dialect.end
}

function renderHead(metric: MetricView, dialect: Dialect): string {
  const { help, type, unit } = metric.definition
  const name = dialect.familyName(metric)
  const unitLine = dialect.hasUnits && unit !== undefined ? `# UNIT ${name} ${unit}\n` : ''
  const helpText = help.replaceAll(dialect.helpEscapes, escapeCharacter)
  return `# HELP ${name} ${helpText}\n# TYPE ${name} ${dialect.type(type)}\n${unitLine}`
}

function renderNumber(name: string, labels: string, { value }: NumberView): string {
  return `${name}${labels === '' ? '' : `{${labels}}`} ${renderValue(value)}\n`
}

function renderHistogram(
  name: string,
  labels: string,
  { counts, count, sum }: HistogramView,
  bounds: readonly string[],
): string {
  const before = labels === '' ? '' : `${labels},`
  let text = ''
  let total = 0
  for (let i = 0; i < counts.length - 1; i++) {
    total += counts[i] as number
    text += `${name}_bucket{${before}le="${bounds[i]}"} ${total}\n`
  }
  const braced = labels === '' ? '' : `{${labels}}`
  return `${text}${name}_bucket{${before}le="+Inf"} ${count}\n${name}_sum${braced} ${renderValue(sum)}\n${name}_count${braced} ${count}\n`
}

function boundTexts({ bounds }: HistogramDefinition<Labels>, dialect: Dialect): readonly string[] {
  return bounds.map(dialect.bound)
}

function renderLabels(names: readonly string[], values: readonly string[]): string {
  let text = ''
  for (let i = 0; i < names.length; i++) {
    text += `${i === 0 ? '' : ','}${names[i]}="${escapeValue(values[i] as string)}"`
  }
  return text
}

const NEEDS_ESCAPE = /[\\\n"]/
const ESCAPED = /[\\\n"]/g

function escapeValue(text: string): string {
  return NEEDS_ESCAPE.test(text) ? text.replaceAll(ESCAPED, escapeCharacter) : text
}

function escapeCharacter(character: string): string {
  return character === '\n' ? '\\n' : `\\${character}`
}

function renderValue(value: number): string {
  if (Number.isFinite(value)) return String(value)
  if (Number.isNaN(value)) return 'NaN'
  return value > 0 ? '+Inf' : '-Inf'
}
