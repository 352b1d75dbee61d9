import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { readCelSpec } from './cel-spec.ts'
import { MODES, runSpecTests } from './modes.ts'
import { renderSkipped } from './skip-list.ts'

const { run, skipped } = readCelSpec()

/**
 * The number of tests evaluated in each suite. Of the 2,319 tests that are evaluated, 1,639 need no
 * protobuf messages; 25 of these belong to block_ext.
 */
const EVALUATED: Readonly<Record<string, number>> = {
  basic: 43,
  bindings_ext: 5,
  comparisons: 334,
  conversions: 109,
  encoders_ext: 4,
  enums: 2,
  fields: 60,
  fp_math: 30,
  integer_math: 64,
  lists: 39,
  logic: 30,
  macros: 44,
  macros2: 46,
  math_ext: 199,
  namespace: 3,
  optionals: 59,
  parse: 193,
  plumbing: 5,
  string: 51,
  string_ext: 206,
  timestamps: 76,
  type_deductions: 12,
}

describe('cel-spec: tests that are run', () => {
  it('all 2,344 tests are either run or skipped with a reason', () => {
    assert.equal(run.length + skipped.length, 2344)
    assert.equal(new Set([...run, ...skipped].map((test) => test.name)).size, 2344)
  })

  it('1,614 tests are evaluated, in each suite all that need no protobuf', () => {
    const evaluated = Map.groupBy(
      run.filter((test) => !test.checkOnly),
      (test) => test.suite,
    )
    const counts = Object.fromEntries([...evaluated].map(([suite, tests]) => [suite, tests.length]))
    assert.deepEqual(counts, EVALUATED)
    assert.equal(
      Object.values(counts).reduce((sum, count) => sum + count),
      1614,
    )
  })

  it('10 more are for the checker alone', () => {
    assert.equal(run.filter((test) => test.checkOnly).length, 10)
  })

  it('SKIPPED.md is up to date', () => {
    const file = readFileSync(new URL('SKIPPED.md', import.meta.url), 'utf8')
    assert.equal(file, renderSkipped(skipped), 'npm run conformance writes it anew')
  })
})

describe('cel-spec: every mode', async () => {
  const outcomes = await runSpecTests(run)
  const suites = Map.groupBy(outcomes, (outcome) => outcome.test.suite)
  for (const [suite, ofSuite] of suites) {
    for (const mode of MODES) {
      const applicable = ofSuite.filter((outcome) => outcome.modes.has(mode))
      if (applicable.length === 0) continue
      it(`${suite}, ${mode}: ${applicable.length} tests`, () => {
        const failures = applicable.flatMap(({ test, modes }) => {
          const why = modes.get(mode)
          return why === undefined ? [] : [`${test.name}: ${test.expression}: ${why}`]
        })
        assert.deepEqual(failures, [])
      })
    }
  }

  it('an expression that cel-go evaluates to an error is rejected at compile time only as a bad constant', () => {
    const early = outcomes.filter((outcome) => outcome.rejected !== undefined)
    const otherwise = early.filter((outcome) => outcome.rejected !== 'PC0112')
    assert.deepEqual(
      otherwise.map(({ test, rejected }) => `${test.name}: ${rejected}`),
      [],
    )
  })
})
