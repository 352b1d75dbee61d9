import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { LIMITS } from '../thresholds/limits.ts'
import { GROUPS } from '../thresholds/list.ts'
import { rewritten } from '../thresholds/rewritten.ts'
import { SETTINGS } from '../thresholds/threshold.ts'
import { readSources } from './read-sources.ts'
import { type SizeComparison, sizeComparisons } from './size-comparisons.ts'

const SOURCES = readSources().filter(
  ({ path }) =>
    /^src\/.+\.ts$/.test(path) && !/\/(generated|fixtures)\/|\.(test|plain)\.ts$/.test(path),
)
const THRESHOLDS = GROUPS.flatMap(({ thresholds }) => thresholds)
const EXEMPT = new Set(Object.values(LIMITS).flat())

const keyOf = ({ path, constant }: SizeComparison) => `${path} ${constant}`

/** Comparisons that are in neither list. */
function unlisted(comparisons: readonly SizeComparison[]): readonly string[] {
  return comparisons
    .filter((own) => !EXEMPT.has(keyOf(own)))
    .filter(({ path, test }) => !isThreshold(path, test))
    .map(({ path, line, test }) => `src/${path}:${line}: ${test}`)
}

function isThreshold(path: string, test: string): boolean {
  return THRESHOLDS.some(
    ({ file, tests }) => file === `src/${path}` && tests.some((own) => own.includes(test)),
  )
}

describe('switches of size', () => {
  it('every size that is compared with a constant is listed, as a threshold or as a limit', () => {
    const missing = unlisted(sizeComparisons(SOURCES))
    const hint =
      'add it to test/thresholds: to a group if the implementation switches, else to limits.ts'
    assert.deepEqual(missing, [], hint)
  })

  it('a new comparison is reported, with either operand first', () => {
    const text =
      'const FEW = 8\nif (all.length <= FEW) a()\nif (FEW < map.size) b()\nif (n.size > 9) c()'
    assert.deepEqual(unlisted(sizeComparisons([{ path: 'src/cel/a.ts', text }])), [
      'src/cel/a.ts:2: all.length <= FEW',
      'src/cel/a.ts:3: FEW < map.size',
      'src/cel/a.ts:4: n.size > 9',
    ])
  })

  it('no limit is listed that is in no file, twice, or also a threshold', () => {
    const present = new Set(
      sizeComparisons(SOURCES)
        .filter(({ path, test }) => !isThreshold(path, test))
        .map(keyOf),
    )
    const all = Object.values(LIMITS).flat()
    assert.deepEqual(
      all.filter((key) => !present.has(key)),
      [],
    )
    assert.equal(new Set(all).size, all.length)
  })

  it('every threshold is written in its file as the list has it, and can be set', () => {
    const paths = new Set(THRESHOLDS.flatMap(({ file, declaredIn }) => [file, declaredIn ?? file]))
    for (const path of paths) {
      const source = SOURCES.find((file) => file.path === path)
      assert.ok(source !== undefined, path)
      for (const setting of SETTINGS) {
        for (const { thresholds } of GROUPS) rewritten(path, source.text, thresholds, setting)
      }
    }
  })
})
