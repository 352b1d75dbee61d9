import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readSources } from './read-sources.ts'
import { isTest, type SourceFile } from './rule.ts'
import { MAX_FILE } from './table.ts'

/** Max lines of the median file, and of the file at the 90th percentile. */
const MAX_MEDIAN = 110
const MAX_OF_NINE_TENTHS = 300

/** Handwritten code that runs. */
function lengthsOf(files: readonly SourceFile[]): readonly number[] {
  return files
    .filter(({ path }) => path.startsWith('src/') && !isTest(path) && !path.includes('/generated/'))
    .map(({ text }) => text.trimEnd().split('\n').length)
    .toSorted((a, b) => a - b)
}

function problemsOf(files: readonly SourceFile[]): readonly string[] {
  const lengths = lengthsOf(files)
  const at = (share: number) => lengths[Math.floor(lengths.length * share)] ?? 0
  return [
    ...(at(0.5) > MAX_MEDIAN ? [`the median file has ${at(0.5)} lines`] : []),
    ...(at(0.9) > MAX_OF_NINE_TENTHS ? [`a tenth of all files has over ${at(0.9)} lines`] : []),
  ]
}

describe('lengths of files', () => {
  const planted = (lines: number, count: number) =>
    Array.from({ length: count }, (_, n) => ({
      path: `src/cel/${lines}-${n}.ts`,
      text: 'a\n'.repeat(lines),
    }))

  it('are small for most files', () => {
    const sources = readSources()
    assert.ok(lengthsOf(sources).length > 1_000)
    assert.deepEqual(problemsOf(sources), [])
  })

  it('planted: half of the files are just short enough for the limit of each file', () => {
    const files = [...planted(10, 9), ...planted(MAX_FILE, 10)]
    assert.deepEqual(problemsOf(files), [
      'the median file has 400 lines',
      'a tenth of all files has over 400 lines',
    ])
  })

  it('planted: a few long files', () => {
    assert.deepEqual(problemsOf([...planted(10, 8), ...planted(301, 2)]), [
      'a tenth of all files has over 301 lines',
    ])
    assert.deepEqual(problemsOf([...planted(110, 10), ...planted(400, 1)]), [])
  })
})
