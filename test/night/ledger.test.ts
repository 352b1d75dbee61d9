import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { appendNight, lastPassed, type Night, readLedger, type SuiteRecord } from './ledger.ts'

const ABOUT = { suite: 'cluster', commit: 'abc', isDirty: false, found: [] }
const COUNTS = { rounds: 1, passed: 9, failed: 0, skipped: 0, seconds: 5, cpuSeconds: 4 }
const ENDED: SuiteRecord = { ...ABOUT, outcome: 'ended', ...COUNTS, unsteady: [] }

const nightWith = (...suites: readonly SuiteRecord[]): Night => ({
  began: '2026-01-01T00:00:00.000Z',
  ended: '2026-01-01T02:00:00.000Z',
  machine: '2 cores',
  seed: 1,
  seconds: 7200,
  cpuSeconds: 7000,
  suites,
})

describe('the ledger of nights', () => {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-'))
  after(() => rmSync(folder, { recursive: true }))

  it('has the nights in the order in which they ended', () => {
    const file = join(folder, 'ledger.jsonl')
    assert.deepEqual(readLedger(file), [])
    const nights = [nightWith(ENDED), nightWith({ ...ENDED, commit: 'def' })]
    for (const night of nights) appendNight(night, file)
    assert.deepEqual(readLedger(file), nights)
  })

  it('names the last commit at which a suite passed', () => {
    const nights = [
      nightWith(ENDED),
      nightWith({ ...ENDED, commit: 'def' }),
      nightWith({ ...ENDED, commit: 'ghi', failed: 1 }),
    ]
    assert.equal(lastPassed('cluster', nights)?.commit, 'def')
    assert.equal(lastPassed('release', nights), undefined)
  })

  const NOT_PASSED: readonly (readonly [string, SuiteRecord])[] = [
    ['was left out', { ...ABOUT, outcome: 'left out', reason: 'no Go' }],
    ['was interrupted', { ...ABOUT, outcome: 'interrupted', reason: 'after 5 s' }],
    ['failed', { ...ENDED, failed: 1 }],
    ['ran no test', { ...ENDED, passed: 0 }],
    ['ran with changes that are in no commit', { ...ENDED, isDirty: true }],
  ]
  for (const [what, record] of NOT_PASSED) {
    it(`does not count a suite as passed that ${what}`, () => {
      assert.equal(lastPassed('cluster', [nightWith(record)]), undefined)
    })
  }

  it('can be read as it is in the tree', () => {
    for (const { began, suites } of readLedger()) {
      assert.ok(!Number.isNaN(Date.parse(began)))
      for (const { suite, commit } of suites)
        assert.match(`${suite} ${commit}`, /^\S+ [0-9a-f]{40}$/)
    }
  })
})
