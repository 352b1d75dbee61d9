// HOT PATH: the current time, read ten times per request. Guarded by bench/proxy.ts.

import { performance } from 'node:perf_hooks'

/*
 * Reading the clock costs as much as parsing a header. Everything that one socket read causes
 * synchronously can share one reading: deadlines are checked a few times a second, and the first
 * byte of a response arrived when it was read. The duration of work done in that time must not be
 * measured with it.
 */

/** Max milliseconds until a change of the wall clock is noticed. */
const PERIOD = 100
/** Milliseconds by which the wall clock may lag: one for rounding down, the rest for drift. */
const TOLERANCE = 1.5

/**
 * `Date.now` derived from `performance.now`, which is cheaper and already known. The wall clock
 * follows changes of the system time, the monotonic clock does not: they are compared periodically.
 */
export class WallClock {
  #origin: number
  #checkedAt = Number.NEGATIVE_INFINITY
  readonly #fine: () => number
  readonly #coarse: () => number

  constructor(
    origin: number = performance.timeOrigin,
    fine: () => number = () => performance.now(),
    coarse: () => number = Date.now,
  ) {
    this.#origin = origin
    this.#fine = fine
    this.#coarse = coarse
  }

  /** The wall-clock time of a very recent moment. */
  at(time: number): number {
    if (time - this.#checkedAt > PERIOD) this.#check(time)
    return Math.floor(this.#origin + time)
  }

  #check(time: number): void {
    this.#checkedAt = time
    const wall = this.#coarse()
    const ahead = this.#origin + this.#fine() - wall
    if (ahead < 0 || ahead > TOLERANCE) this.#origin -= ahead
  }
}

const wallClock = new WallClock()

let isEvent = false
/** Zero: not read yet. */
let time = 0
let date = 0

/** Called when bytes were read, before they are processed. */
export function beginEvent(): void {
  isEvent = true
  time = 0
  date = 0
}

export function endEvent(): void {
  isEvent = false
}

/** Milliseconds of `performance.now()`: when processing of the read bytes began, or now. */
export function eventTime(): number {
  if (!isEvent) return performance.now()
  if (time === 0) time = performance.now()
  return time
}

/** The same for `Date.now()`; ignores changes of the system time in the last tenth of a second. */
export function eventDate(): number {
  if (!isEvent) return Date.now()
  if (date === 0) date = wallClock.at(eventTime())
  return date
}
