import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { BudgetFile } from './budget-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-budgets-'))
let files = 0
const DAY = 86_400_000
const NOW = 1_800_000_000_000

describe('the budget file', () => {
  after(() => rmSync(folder, { recursive: true }))

  const open = (path: string, now = NOW) =>
    new BudgetFile({ path, failed: (error) => assert.fail(error), now: () => now })
  const fresh = () => join(folder, `budgets-${++files}`)
  const take = (amount: number, key = 'ann', ends = NOW + DAY) => ({
    ...{ budget: 'budget x 0', key, ends, amount, capacity: 100, maxKeys: 10 },
  })

  it('restores reservations and refunds after any exit', () => {
    const step = fc.record({
      key: fc.constantFrom('ann', 'ben'),
      amount: fc.integer({ min: 1, max: 60 }),
      used: fc.option(fc.integer({ min: 0, max: 80 }), { nil: undefined }),
      // Nothing is closed, as when the process is killed.
      ends: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        const path = fresh()
        let file = open(path)
        const used = new Map<string, number>()
        for (const { key, amount, used: exact, ends } of steps) {
          const before = used.get(key) ?? 0
          const asked = take(amount, key)
          const isRoom = before + amount <= 100
          assert.equal(file.take(asked), isRoom ? undefined : 'used-up')
          if (isRoom) used.set(key, before + amount)
          // A call that was never settled counts with its reservation.
          if (isRoom && exact !== undefined) {
            file.charge(asked, exact - amount)
            used.set(key, before + exact)
          }
          if (ends) file = open(path)
        }
      }),
      { numRuns: 50 },
    )
  })

  it('skips a truncated line and expired periods', () => {
    const path = fresh()
    open(path).take(take(60))
    appendFileSync(path, readFileSync(path, 'utf8').slice(0, -4))
    const file = open(path)
    assert.equal(file.take(take(40)), undefined)
    assert.equal(file.take(take(1)), 'used-up')
    assert.equal(open(path, NOW + 3 * DAY).take(take(100, 'ann', NOW + 4 * DAY)), undefined)
    assert.equal(readFileSync(path, 'utf8').split('\n').length, 2)
  })

  it('contains no caller identities', () => {
    const path = fresh()
    open(path).take(take(60, 'ann@example.com'))
    assert.doesNotMatch(readFileSync(path, 'utf8'), /ann|example/)
  })

  it('does not overwrite a foreign file', () => {
    for (const text of ['root:x:0:0\n', '\n', `${'a'.repeat(22)} b 1 1\n`]) {
      const path = fresh()
      writeFileSync(path, text)
      assert.throws(() => open(path), /is not a budget record/)
      assert.equal(readFileSync(path, 'utf8'), text)
    }
  })

  it('reserves nothing that it cannot write', async () => {
    const path = fresh()
    let failures = 0
    const file = new BudgetFile({ path, failed: () => failures++, now: () => NOW })
    // The descriptor is closed: every write fails, as on a full disk.
    await file.close()
    assert.equal(file.take(take(60)), 'owner-away')
    assert.equal(file.take(take(60)), 'owner-away')
    assert.equal(failures, 1)
  })
})
