import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { RestartDelays } from './restart-delays.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

describe('the delay before a worker that exited is replaced', () => {
  it('is none at first, then doubles from a second to half a minute', () => {
    const delays = new RestartDelays()
    const seconds = Array.from({ length: 9 }, () => delays.after(0, 10) / SECOND)
    assert.deepEqual(seconds, [0, 1, 2, 4, 8, 16, 30, 30, 30])
  })

  it('stays half a minute however often the worker exits', () => {
    const delays = new RestartDelays()
    for (let exits = 0; exits < 5_000; exits++) delays.after(0, 10)
    assert.equal(delays.after(0, 10), 30 * SECOND)
  })

  it('is none again once the worker lived for a minute', () => {
    const delays = new RestartDelays()
    for (let exits = 0; exits < 5; exits++) delays.after(0, 10)
    assert.equal(delays.after(0, MINUTE - 1), 16 * SECOND)
    assert.equal(delays.after(0, MINUTE), 0)
    assert.equal(delays.after(0, 10), SECOND)
  })

  it('is counted for each worker on its own', () => {
    const delays = new RestartDelays()
    assert.deepEqual([delays.after(0, 10), delays.after(0, 10)], [0, SECOND])
    assert.deepEqual([delays.after(1, 10), delays.after(0, 10)], [0, 2 * SECOND])
  })
})
