import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { describe, it } from 'node:test'
import { beginEvent, endEvent, eventDate, eventTime, WallClock } from './event-clock.ts'

/** Waits until both clocks have advanced. */
function pass(): void {
  const [time, date] = [performance.now(), Date.now()]
  while (performance.now() === time || Date.now() === date);
}

describe('the event clock', () => {
  it('is constant during an event', () => {
    beginEvent()
    const [time, date] = [eventTime(), eventDate()]
    pass()
    assert.deepEqual([eventTime(), eventDate()], [time, date])
    endEvent()
    assert.ok(eventTime() > time)
    assert.ok(eventDate() > date)
  })

  it('changes with the next event, and is never ahead of the clock', () => {
    beginEvent()
    const first = eventTime()
    endEvent()
    pass()
    beginEvent()
    pass()
    const [time, date] = [eventTime(), eventDate()]
    endEvent()
    assert.ok(time > first)
    assert.ok(time <= performance.now())
    assert.ok(date <= Date.now())
  })

  it('advances outside events', () => {
    const time = eventTime()
    pass()
    assert.ok(eventTime() > time)
  })
})

describe('the wall clock derived from the monotonic clock', () => {
  /** A machine whose two clocks advance together, unless one is set. */
  function machine(origin = 1_000_000.4) {
    const own = { now: 5, set: 0, looks: 0 }
    const clock = new WallClock(
      origin,
      () => own.now,
      () => {
        own.looks++
        return Math.floor(1_000_000.4 + own.set + own.now)
      },
    )
    const wall = () => Math.floor(1_000_000.4 + own.set + own.now)
    return { own, clock, wall }
  }

  it('returns the same time, and rarely reads the system clock', () => {
    const { own, clock, wall } = machine()
    for (let step = 0; step < 5_000; step++) {
      own.now += 0.37
      assert.equal(clock.at(own.now), wall())
    }
    assert.ok(own.looks <= 20, `${own.looks} looks in ${own.now} ms`)
  })

  for (const [way, by] of [
    ['forward', 3_600_000],
    ['back', -3_600_000],
    ['by little', 3],
    ['back by little', -3],
  ] as const) {
    it(`follows within a tenth of a second where it is set ${way}`, () => {
      const { own, clock, wall } = machine()
      clock.at(own.now)
      own.set = by
      own.now += 101
      assert.ok(Math.abs(clock.at(own.now) - wall()) <= 1)
    })
  }

  it('determines the start time of the machine', () => {
    const { own, clock, wall } = machine(0)
    assert.ok(Math.abs(clock.at(own.now) - wall()) <= 1)
  })

  it('stays within two milliseconds while the system clock is slewed', () => {
    const { own, clock, wall } = machine()
    for (let step = 0; step < 20_000; step++) {
      own.now += 0.9
      // Slower than the other one by a two-thousandth, the max rate at which clocks are slewed.
      own.set -= 0.9 / 2_000
      const late = wall() - clock.at(own.now)
      assert.ok(late >= -2 && late <= 2, `${late} ms`)
    }
  })
})
