import { llmCost, llmRequests, llmTokens } from './definitions/llm.ts'
import type { MetricView } from './exposition.ts'

/** The usage of one model of one provider within a minute. */
export interface UsageRow {
  /** The beginning of the minute, in milliseconds since 1970. */
  readonly time: number
  readonly provider: string
  readonly model: string
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** US dollars. */
  readonly cost: number
}

const MEASURES = ['requests', 'inputTokens', 'outputTokens', 'cost'] as const

type Used = Record<(typeof MEASURES)[number], number>

const MINUTE = 60_000
/** How long minutes are kept, and the max number of rows. */
const KEPT = 24 * 60 * MINUTE
const MAX_ROWS = 50_000

/**
 * Usage over time, derived from the existing counters, so that calls to models have no extra cost.
 * Counters are read periodically, and their increase is assigned to the minute of the reading.
 */
export class UsageHistory {
  readonly #rows = new Map<string, Used & Pick<UsageRow, 'time' | 'provider' | 'model'>>()
  readonly #unwritten = new Set<string>()
  #last = new Map<string, Used>()

  sample(metrics: Iterable<MetricView>, now: number): void {
    const totals = totalsOf(metrics)
    const time = Math.floor(now / MINUTE) * MINUTE
    for (const [key, total] of totals) {
      const before = this.#last.get(key)
      const grown = before === undefined ? total : differenceOf(total, before)
      if (MEASURES.every((measure) => grown[measure] === 0)) continue
      const [provider = '', model = ''] = JSON.parse(key) as readonly string[]
      this.#add(`${time} ${key}`, { time, provider, model }, grown)
    }
    this.#last = totals
    this.#forget(now)
  }

  /** Rows since a time, oldest first. */
  since(time: number): readonly UsageRow[] {
    return [...this.#rows.values()].filter((row) => row.time >= time)
  }

  /** Rows that grew since they were last written; call `written` after writing them. */
  unwritten(max: number): { readonly rows: readonly UsageRow[]; readonly written: () => void } {
    const keys = [...this.#unwritten].slice(0, max)
    const rows = keys.flatMap((key) => {
      const row = this.#rows.get(key)
      return row === undefined ? [] : [{ ...row }]
    })
    const written = () => {
      for (const [index, key] of keys.entries()) {
        const row = this.#rows.get(key)
        const stored = rows[index]
        const isSame =
          row === undefined ||
          (stored !== undefined && MEASURES.every((measure) => row[measure] === stored[measure]))
        if (isSame) this.#unwritten.delete(key)
      }
    }
    return { rows, written }
  }

  #add(key: string, named: Pick<UsageRow, 'time' | 'provider' | 'model'>, grown: Used): void {
    const row = this.#rows.get(key)
    if (row === undefined) this.#rows.set(key, { ...named, ...grown })
    else for (const measure of MEASURES) row[measure] += grown[measure]
    this.#unwritten.add(key)
  }

  /** Rows are ordered by time. */
  #forget(now: number): void {
    for (const [key, { time }] of this.#rows) {
      if (this.#rows.size <= MAX_ROWS && time >= now - KEPT) return
      this.#rows.delete(key)
      this.#unwritten.delete(key)
    }
  }
}

function totalsOf(metrics: Iterable<MetricView>): Map<string, Used> {
  const totals = new Map<string, Used>()
  for (const { definition, labelNames, series } of metrics) {
    const { name } = definition
    if (name !== llmRequests.name && name !== llmTokens.name && name !== llmCost.name) continue
    for (const one of series) {
      if (!('value' in one)) continue
      const label = (wanted: string) => one.labels[labelNames.indexOf(wanted)] ?? ''
      const key = JSON.stringify([label('provider'), label('model')])
      const total = totals.get(key) ?? nothing()
      totals.set(key, total)
      total[measureOf(name, label('direction'))] += one.value
    }
  }
  return totals
}

function nothing(): Used {
  return { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 }
}

function measureOf(name: string, direction: string): keyof Used {
  if (name === llmRequests.name) return 'requests'
  if (name === llmCost.name) return 'cost'
  return direction === 'input' ? 'inputTokens' : 'outputTokens'
}

/** A worker's counters disappear with it: a decrease is not usage. */
function differenceOf(total: Used, before: Used): Used {
  const grown = nothing()
  for (const measure of MEASURES) grown[measure] = Math.max(0, total[measure] - before[measure])
  return grown
}

/** Merges rows of the same step; `step` in milliseconds. */
export function usageBySteps(rows: readonly UsageRow[], step: number): readonly UsageRow[] {
  const points = new Map<string, UsageRow>()
  for (const row of rows) {
    const time = Math.floor(row.time / step) * step
    const key = JSON.stringify([time, row.provider, row.model])
    const known = points.get(key)
    const sum = known === undefined ? { ...row, time } : added(known, row)
    points.set(key, sum)
  }
  return [...points.values()].sort((a, b) => a.time - b.time)
}

function added(known: UsageRow, row: UsageRow): UsageRow {
  return {
    ...known,
    requests: known.requests + row.requests,
    inputTokens: known.inputTokens + row.inputTokens,
    outputTokens: known.outputTokens + row.outputTokens,
    cost: known.cost + row.cost,
  }
}
