import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { describe, it } from 'node:test'
import { beginEvent, endEvent, eventDate, eventTime } from './event-clock.ts'

/** Until both clocks have gone on. */
function pass(): void {
  const [time, date] = [performance.now(), Date.now()]
  while (performance.now() === time || Date.now() === date);
}

describe('the clock of an event', () => {
  it('stands still until the event is over', () => {
    beginEvent()
    const [time, date] = [eventTime(), eventDate()]
    pass()
    assert.deepEqual([eventTime(), eventDate()], [time, date])
    endEvent()
    assert.ok(eventTime() > time)
    assert.ok(eventDate() > date)
  })

  it('has another time in the next event, and is never ahead of the clock', () => {
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

  it('goes on where there is no event', () => {
    const time = eventTime()
    pass()
    assert.ok(eventTime() > time)
  })
})
