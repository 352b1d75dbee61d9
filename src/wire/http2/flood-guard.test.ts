import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { FloodGuard } from './flood-guard.ts'
import type { Http2Count } from './limits.ts'

const BURST = 10
const OVERHEAD = 20_000

/** A guard whose allowances do not refill, and everything that it reported. */
function guardOf(resets = true) {
  const calmed: string[] = []
  const counted: Http2Count[] = []
  const limits = {
    ...(resets ? { resets: { perSecond: 0, burst: BURST } } : {}),
    controlFrames: { perSecond: 0, burst: BURST },
    overhead: { perSecond: 0, burst: OVERHEAD },
  }
  const observer = { counted: (what: Http2Count) => void counted.push(what) }
  const guard = new FloodGuard(limits, observer, (what) => calmed.push(what))
  return { guard, calmed, counted }
}

describe('the guard against floods', () => {
  for (const [what, frame, count] of [
    ['too-many-resets', (guard: FloodGuard) => guard.reset(), 'client-reset'],
    ['too-many-resets', (guard: FloodGuard) => guard.spendReset(), undefined],
    ['too-many-settings', (guard: FloodGuard) => guard.settings(), 'control-frame'],
    ['too-many-priorities', (guard: FloodGuard) => guard.priority(), 'control-frame'],
    ['too-many-empty-frames', (guard: FloodGuard) => guard.emptyFrame(), 'control-frame'],
    ['too-many-pings', (guard: FloodGuard) => guard.pong(), 'control-frame'],
    ['too-many-pings', (guard: FloodGuard) => guard.ping(), 'control-frame'],
  ] as const) {
    it(`reports ${what} from the first that is too many, by its own allowance`, () => {
      const { guard, calmed, counted } = guardOf()
      for (let i = 0; i < BURST; i++) frame(guard)
      assert.deepEqual(calmed, [])
      frame(guard)
      frame(guard)
      assert.deepEqual(calmed, [what, what])
      assert.deepEqual(counted, count === undefined ? [] : Array(BURST + 2).fill(count))
      // The others have all of theirs.
      calmed.length = 0
      const own = what.slice('too-many-'.length)
      const all = { resets: 'spendReset', settings: 'settings', priorities: 'priority' } as const
      for (const [name, method] of Object.entries(all)) {
        if (name === own) continue
        for (let i = 0; i < BURST; i++) guard[method]()
      }
      assert.deepEqual(calmed, [])
    })
  }

  it('has no limit for resets unless it is set', () => {
    const { guard, calmed } = guardOf(false)
    for (let i = 0; i < 1_000; i++) guard.reset()
    assert.deepEqual(calmed, [])
  })

  it('accepts one PING for each write that contains messages, up to 64 in advance', () => {
    const { guard, calmed, counted } = guardOf()
    for (let i = 0; i < 100; i++) guard.expect(10, true)
    for (let i = 0; i < 100; i++) guard.expect(10, false)
    for (let i = 0; i < 64 + BURST; i++) guard.ping()
    assert.deepEqual(calmed, [])
    guard.ping()
    assert.deepEqual(calmed, ['too-many-pings'])
    assert.equal(counted.length, 64 + BURST + 1)
    guard.expect(1, true)
    guard.ping()
    assert.equal(calmed.length, 1)
    guard.pong()
    assert.equal(calmed.length, 2, 'nothing justifies an acknowledgement')
  })

  for (const [what, spend] of [
    ['too-many-window-updates', (guard: FloodGuard, bytes: number) => guard.windowUpdate(bytes)],
    ['too-much-overhead', (guard: FloodGuard, bytes: number) => guard.overhead(bytes)],
  ] as const) {
    it(`counts bytes in portions, and what it was to expect: ${what}`, () => {
      const { guard, calmed } = guardOf()
      for (let bytes = 0; bytes < OVERHEAD; bytes += 100) spend(guard, 100)
      guard.settle()
      assert.deepEqual(calmed, [])
      // Nothing is checked before a portion is complete.
      spend(guard, 4_095)
      assert.deepEqual(calmed, [])
      spend(guard, 1)
      assert.deepEqual(calmed, [what])
      // An eighth of what is written, and no more than 64 KiB of it.
      guard.expect(8 * 70_000, false)
      calmed.length = 0
      for (let bytes = 0; bytes < 65_536; bytes += 4_096) spend(guard, 4_096)
      guard.settle()
      assert.deepEqual(calmed, [])
      spend(guard, 1)
      guard.settle()
      assert.deepEqual(calmed, [what])
    })
  }
})
