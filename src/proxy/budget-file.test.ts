import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { BudgetFile } from './budget-file.ts'
import { LimitedDisk } from './fixtures/limited-disk.ts'

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

  for (const room of [0, 1, 30, 62]) {
    it(`stores whole lines or none on a disk that has ${room} bytes left for an amount`, (context) => {
      const path = fresh()
      const failures: string[] = []
      const options = { path, failed: (error: string) => failures.push(error), now: () => NOW }
      const file = new BudgetFile(options)
      assert.equal(file.take(take(10)), undefined)
      const disk = new LimitedDisk(room)
      context.after(() => disk.restore())
      const before = readFileSync(path, 'utf8')
      assert.equal(file.take(take(60)), 'owner-away')
      assert.equal(readFileSync(path, 'utf8'), before)
      disk.room = 1_000
      assert.equal(file.take(take(20)), undefined)
      assert.equal(open(path).take(take(71)), 'used-up')
      assert.equal(open(path).take(take(70)), undefined)
    })
  }

  it('stores what was used on a full disk with the next amount, once', (context) => {
    const path = fresh()
    const file = new BudgetFile({ path, failed: () => {}, now: () => NOW })
    const asked = take(50)
    assert.equal(file.take(asked), undefined)
    const disk = new LimitedDisk(7)
    context.after(() => disk.restore())
    file.charge(asked, -20)
    file.charge(asked, 5)
    disk.room = 1_000
    assert.equal(file.take(take(1)), undefined)
    assert.equal(file.take(take(1)), undefined)
    assert.equal(open(path).take(take(64)), 'used-up')
    assert.equal(open(path).take(take(63)), undefined)
  })

  it('stores when it is closed what was used on a full disk', async (context) => {
    const path = fresh()
    const file = new BudgetFile({ path, failed: () => {}, now: () => NOW })
    file.take(take(50))
    const disk = new LimitedDisk(0)
    context.after(() => disk.restore())
    file.charge(take(50), 25)
    disk.room = 1_000
    await file.close()
    assert.equal(open(path).take(take(26)), 'used-up')
    assert.equal(open(path).take(take(25)), undefined)
  })

  it('reports each time that writing begins to fail', (context) => {
    const failures: string[] = []
    const failed = (error: string) => failures.push(error)
    const file = new BudgetFile({ path: fresh(), failed, now: () => NOW })
    const disk = new LimitedDisk(0)
    context.after(() => disk.restore())
    for (const [room, count] of [
      [0, 1],
      [0, 1],
      [1_000, 1],
      [1_000, 1],
      [0, 2],
      [0, 2],
    ] as const) {
      disk.room = room
      assert.equal(file.take(take(1)), room === 0 ? 'owner-away' : undefined)
      assert.equal(failures.length, count)
    }
    assert.match(failures[0] ?? '', /ENOSPC/)
  })
})
