// Loaded with --import: the product's thresholds get the values that THRESHOLDS names, and every
// comparison with one of them is counted. The product itself has no switch for this, so that it
// costs nothing there.

import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { GROUPS } from './list.ts'
import { rewritten } from './rewritten.ts'
import type { Setting } from './threshold.ts'

const {
  THRESHOLDS: setting = 'default',
  THRESHOLDS_GROUP: only,
  THRESHOLDS_REPORT: report,
} = process.env

const chosen = GROUPS.filter(({ name }) => only === undefined || name === only).flatMap(
  ({ thresholds }) => thresholds,
)
const sides = chosen.map((): [below: number, above: number] => [0, 0])

Object.assign(globalThis, {
  portcullisSide: (index: number, isTrue: boolean): boolean => {
    const counts = sides[index] as [number, number]
    counts[isTrue ? 1 : 0]++
    return isTrue
  },
})

registerHooks({
  load: (url, context, nextLoad) => {
    const result = nextLoad(url, context)
    const path = /\/(src\/.+\.ts)$/.exec(url)?.[1]
    if (path === undefined || !url.startsWith('file:')) return result
    const text = String(result.source)
    return { ...result, source: rewritten(path, text, chosen, setting as Setting) }
  },
})

if (report !== undefined) {
  process.on('exit', () => appendFileSync(report, `${JSON.stringify(sides)}\n`))
}
