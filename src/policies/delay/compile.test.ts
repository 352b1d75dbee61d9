import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { exchangeOf } from '../../../test/fuzz/exchanges.ts'
import { programOf } from '../../../test/program/models.ts'

const HOUR = 3_600_000

describe('delay', () => {
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
      const timers = mock.method(globalThis, 'setTimeout', pausedTimer)
      let running: unknown
      try {
        running = route.run(exchange)
      } finally {
        // Others in this process have timers, too.
        timers.mock.restore()
      }
      if (milliseconds === 0) {
        assert.equal(running, undefined)
        return
      }
      assert.equal(timers.mock.callCount(), 1)
      const [end, delay] = timers.mock.calls[0]?.arguments ?? assert.fail()
      assert.equal(delay, milliseconds)
      let isDone = false
      const done = Promise.resolve(running).then(() => {
        isDone = true
      })
      await new Promise(setImmediate)
      assert.equal(isDone, false)
      end()
      await done
    })
  }
})

/** A timer that ends only if the test ends it. */
function pausedTimer(_end: () => void, _milliseconds?: number) {
  return { unref() {} } as NodeJS.Timeout
}
