import type { Usage } from '../api/shapes.ts'

export type Measure = 'cost' | 'tokens'

type Point = Usage['points'][number]

/** Max lines with their own model; all other models share one line. */
const MAX_LINES = 5
/** A safe upper bound: the API sends fewer. */
const MAX_STEPS = 5_000

function amountIn(point: Point, measure: Measure): number {
  return measure === 'cost' ? point.cost : point.inputTokens + point.outputTokens
}

export function totalOf({ points }: Usage, measure: Measure): number {
  return points.reduce((sum, point) => sum + amountIn(point, measure), 0)
}

/** Returns the names of the lines, and rows of numbers: seconds first, then one row per line. */
export function chartOf(
  { points, since, step }: Usage,
  measure: Measure,
  now: number,
): { readonly names: readonly string[]; readonly rows: readonly (readonly number[])[] } {
  const totals = new Map<string, number>()
  for (const point of points) {
    totals.set(point.model, (totals.get(point.model) ?? 0) + amountIn(point, measure))
  }
  const byTotal = [...totals].sort(([, one], [, other]) => other - one).map(([model]) => model)
  const own = byTotal.slice(0, MAX_LINES)
  const names = byTotal.length > own.length ? [...own, 'all others'] : own
  const first = Math.floor(Date.parse(since) / 1000 / step) * step
  const steps = Math.floor((now / 1000 - first) / step) + 1
  const count = Number.isFinite(steps) ? Math.min(MAX_STEPS, Math.max(1, steps)) : 1
  // A step without a point means no usage in that step.
  const times = Array.from({ length: count }, (_, index) => first + index * step)
  const lines = names.map(() => new Array<number>(count).fill(0))
  for (const point of points) {
    const at = Math.round((Date.parse(point.time) / 1000 - first) / step)
    const line = own.indexOf(point.model)
    const values = lines[line < 0 ? own.length : line]
    if (values !== undefined && at >= 0 && at < count) {
      values[at] = (values[at] ?? 0) + amountIn(point, measure)
    }
  }
  return { names, rows: [times, ...lines] }
}
