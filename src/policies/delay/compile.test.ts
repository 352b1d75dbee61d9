import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, mock } from 'node:test'
import { exchangeOf } from '../../../test/fuzz/exchanges.ts'
import { programOf } from '../../../test/program/models.ts'

const HOUR = 3_600_000

describe('delay', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }))
  afterEach(() => mock.timers.reset())

  for (const [duration, milliseconds] of [
    ['500ms', 500],
    ['2s', 2_000],
    ['2h', HOUR],
    ["duration('1.5s')", 1_500],
    ["duration('2h')", HOUR],
    ['250', 250],
    ['uint(250)', 250],
    ['0.5 * 500.0', 250],
    ['size(request.path)', 1],
    ["request.headers['x-absent'] == '' ? 500 : 500", 0],
    ["'500'", 0],
    ['0', 0],
    ['-500', 0],
    ['true', 0],
  ] as const) {
    it(`\`${duration}\`: ${milliseconds} ms`, async () => {
      const program = programOf({ routes: [{ policies: { delay: { duration } } }] })
      const exchange = exchangeOf()
      const route = program.listeners[0]?.match(exchange) ?? assert.fail()
      const running = route.run(exchange)
      if (milliseconds === 0) {
        assert.equal(running, undefined)
        return
      }
      let isDone = false
      void Promise.resolve(running).then(() => {
        isDone = true
      })
      mock.timers.tick(milliseconds - 1)
      await new Promise(setImmediate)
      assert.equal(isDone, false)
      mock.timers.tick(1)
      await new Promise(setImmediate)
      assert.equal(isDone, true)
    })
  }
})
