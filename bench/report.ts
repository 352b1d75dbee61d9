/** Results of one bench: tables for the reader, and targets that are met or missed. */
export interface Report {
  readonly intro: readonly string[]
  readonly tables: readonly Table[]
  readonly targets: readonly Target[]
}

export interface Table {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export interface Target {
  readonly what: string
  readonly wanted: string
  readonly measured: string
  readonly met: boolean
}

export function renderReport(report: Report): string {
  const targets: Table = {
    title: 'Targets',
    columns: ['target', 'wanted', 'measured', 'met'],
    rows: report.targets.map((t) => [t.what, t.wanted, t.measured, t.met ? 'yes' : '**no**']),
  }
  return [report.intro.join('\n'), ...[targets, ...report.tables].map(renderTable)].join('\n\n')
}

function renderTable({ title, columns, rows }: Table): string {
  const widths = columns.map((_, at) => {
    return Math.max(3, ...[columns, ...rows].map((row) => row[at]?.length ?? 0))
  })
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, at) => align(cells[at] ?? '', width, at)).join(' | ')} |`
  const rule = widths.map((width, at) =>
    at === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [`### ${title}`, '', line(columns), line(rule), ...rows.map(line)].join('\n')
}

function align(text: string, width: number, column: number): string {
  return column === 0 ? text.padEnd(width) : text.padStart(width)
}

/** `12.3 ns`, `4.56 µs`, `7.8 ms` */
export function nanoseconds(value: number): string {
  if (Number.isNaN(value)) return 'n/a'
  if (value < 1_000) return `${significant(value)} ns`
  if (value < 1_000_000) return `${significant(value / 1_000)} µs`
  return value < 1e9 ? `${significant(value / 1_000_000)} ms` : `${significant(value / 1e9)} s`
}

/** `12.3 x` */
export function ratio(value: number): string {
  return `${value >= 100 ? Math.round(value).toLocaleString('en-US') : significant(value)} x`
}

function significant(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3)
}
