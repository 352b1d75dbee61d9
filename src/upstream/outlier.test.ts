import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import type { Attempt } from './cluster.ts'
import { type Eviction, Outliers } from './outlier.ts'

const EVICTION: Eviction = {
  duration: 1_000,
  consecutiveFailures: 3,
  restoreHealth: 1,
  maxEvicted: 0.5,
}

const responded = (status: number): Attempt => ({ outcome: 'responded', status, duration: 1 })
const broken = (outcome: Attempt['outcome']): Attempt => ({ outcome, status: 0, duration: 1 })

interface Scene {
  readonly outliers: Outliers
  readonly reported: string[]
}

function scene(count: number, eviction: Partial<Eviction>, act: (scene: Scene) => void): void {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] })
  const reported: string[] = []
  const outliers = new Outliers(
    count,
    { ...EVICTION, ...eviction },
    {
      ejected: (at, reason) => reported.push(`${at} out: ${reason}`),
      restored: (at) => reported.push(`${at} back`),
    },
    { now: () => Date.now() },
  )
  try {
    act({ outliers, reported })
  } finally {
    outliers.close()
    mock.timers.reset()
  }
}

function repeat(outliers: Outliers, at: number, attempt: Attempt, times: number): void {
  for (let i = 0; i < times; i++) outliers.observe(at, attempt)
}

describe('ejection', () => {
  for (const [sentence, attempts, expected] of [
    ['failures in a row', [500, 503, 502].map(responded), ['0 out: status']],
    ['failures with a success between', [500, 503, 200, 500, 500].map(responded), []],
    ['client errors', [400, 404, 429, 401].map(responded), []],
    ['refused connections', Array(3).fill(broken('connect-failed')), ['0 out: connect']],
    ['resets', Array(3).fill(broken('reset')), ['0 out: reset']],
    ['timeouts', Array(3).fill(broken('timeout')), ['0 out: timeout']],
    ['clients that went away', Array(9).fill(broken('cancelled')), []],
  ] as const satisfies readonly (readonly [string, readonly Attempt[], readonly string[]])[]) {
    it(`${sentence}: ${expected[0] ?? 'stays'}`, () =>
      scene(4, {}, ({ outliers, reported }) => {
        for (const attempt of attempts) outliers.observe(0, attempt)
        assert.deepEqual(reported, expected)
      }))
  }

  it('is decided by an expression if there is one', () =>
    scene(4, {}, ({ outliers, reported }) => {
      for (let i = 0; i < 3; i++) outliers.observe(0, responded(200), true)
      for (let i = 0; i < 3; i++) outliers.observe(1, responded(500), false)
      assert.deepEqual(reported, ['0 out: status'])
    }))

  it('is also triggered by a success rate below the threshold', () =>
    scene(4, { consecutiveFailures: 1_000, healthThreshold: 0.5 }, ({ outliers, reported }) => {
      for (let i = 0; i < 200 && reported.length === 0; i++) {
        outliers.observe(0, responded(i % 3 === 0 ? 200 : 500))
      }
      assert.deepEqual(reported, ['0 out: status'])
    }))

  for (const [count, maxEvicted, max] of [
    [1, 0.5, 0],
    [2, 0.5, 1],
    [4, 0.5, 2],
    [10, 0.1, 1],
    [3, 1, 3],
    [3, 0, 0],
  ] as const) {
    it(`of ${count} at most ${max} are out when ${maxEvicted} may be`, () =>
      scene(count, { maxEvicted }, ({ outliers }) => {
        for (let at = 0; at < count; at++) repeat(outliers, at, responded(500), 10)
        assert.equal(outliers.ejected, max)
      }))
  }
})

describe('restoring', () => {
  it('takes longer each time, and less after a healthy period', () =>
    scene(4, {}, ({ outliers, reported }) => {
      const out = () => {
        reported.length = 0
        repeat(outliers, 0, responded(500), 3)
        assert.equal(reported.length, 1)
        let waited = 0
        for (; reported.length === 1; waited += 100) mock.timers.tick(100)
        return waited
      }
      assert.deepEqual([out(), out(), out()], [1_000, 2_000, 3_000])
      mock.timers.tick(2_500)
      assert.equal(out(), 2_000)
      mock.timers.tick(60_000)
      assert.equal(out(), 1_000)
    }))

  it('ignores late responses from before the ejection', () =>
    scene(4, {}, ({ outliers, reported }) => {
      repeat(outliers, 0, responded(500), 50)
      mock.timers.tick(1_000)
      assert.deepEqual(reported, ['0 out: status', '0 back'])
      assert.equal(outliers.ejected, 0)
    }))
})
