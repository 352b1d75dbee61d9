import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { PausedClock } from './paused-clock.ts'
import { nextSuite, planNight, runsAfter } from './schedule.ts'
import { allSuites, type ExploringSuite, type WholeSuite } from './suites.ts'

const COMMAND = { program: 'true', args: [], env: {} }

const exploring = (name: string, weight: number): ExploringSuite => ({
  kind: 'exploring',
  name,
  weight,
  files: ['a.test.ts'],
  command: () => COMMAND,
  missing: () => undefined,
})

const whole = (name: string, seconds: number, times = 1): WholeSuite => ({
  kind: 'whole',
  name,
  times,
  seconds,
  command: COMMAND,
  missing: () => undefined,
})

describe('the plan of a night', () => {
  it('leaves out whole suites that do not fit beside those that explore, and says why', () => {
    const suites = [exploring('fuzz', 1), whole('a', 300), whole('b', 200, 2), whole('c', 250)]
    const plan = planNight(suites, 1000)
    assert.deepEqual(
      plan.whole.map(({ name }) => name),
      ['a', 'c'],
    )
    assert.deepEqual([...plan.leftOut], [['b', 'it takes 400 s, and 300 s are left for it']])
  })

  it('leaves out suites that cannot run on this machine', () => {
    const plan = planNight([{ ...exploring('oracle', 1), missing: () => 'no Go' }], 1000)
    assert.deepEqual([...plan.leftOut], [['oracle', 'no Go']])
    assert.deepEqual(plan.exploring, [])
  })

  it('gives whole suites all the time if none explores', () => {
    assert.equal(planNight([whole('a', 900)], 1000).whole.length, 1)
  })

  it('gives suites that explore their share of the time', () => {
    const spent = new Map<string, number>()
    const suites = [exploring('fuzz', 4), exploring('oracle', 2)]
    for (let round = 0; round < 60; round++) {
      const { name } = nextSuite(suites, (own) => spent.get(own) ?? 0) as ExploringSuite
      spent.set(name, (spent.get(name) ?? 0) + 10)
    }
    assert.deepEqual(Object.fromEntries(spent), { fuzz: 400, oracle: 200 })
  })

  it('changes the runs of a file until a round takes about a minute', () => {
    assert.equal(runsAfter(1000, { seconds: 31, cpuSeconds: 30 }), 2000)
    assert.equal(runsAfter(1000, { seconds: 900, cpuSeconds: 20 }), 300)
    assert.equal(runsAfter(1000, { seconds: 120, cpuSeconds: 120 }), 500)
    assert.equal(runsAfter(400, { seconds: 1, cpuSeconds: 1 }), 1600)
    assert.equal(runsAfter(20_000, { seconds: 1, cpuSeconds: 1 }), 20_000)
    assert.equal(runsAfter(300, { seconds: 900, cpuSeconds: 900 }), 300)
  })

  it('has files for all suites that explore', () => {
    for (const suite of allSuites()) {
      if (suite.kind === 'exploring') assert.ok(suite.files.length > 0, suite.name)
    }
  })
})

describe('the clock of a night', () => {
  it('leaves out the time during which the process was stopped', () => {
    let now = 0
    const clock = new PausedClock(() => now)
    for (now of [1_000, 2_000, 900_000, 901_000]) clock.tick()
    assert.deepEqual(clock.stop(), { seconds: 4, wasPaused: true })
  })

  it('counts all time if the process was not stopped', () => {
    let now = 0
    const clock = new PausedClock(() => now)
    for (now of [1_000, 3_500]) clock.tick()
    assert.deepEqual(clock.stop(), { seconds: 3.5, wasPaused: false })
  })
})
