// HOT PATH: what time it is, ten times for each request. Guarded by bench/proxy.ts.

import { performance } from 'node:perf_hooks'

/*
 * To look at the clock costs as much as to read a header. What one read of a socket brings about at
 * once can share one look: deadlines are looked at some times a second, and the first byte of a
 * response came when it was read. How long something takes that is done meanwhile must not go by it.
 */

/** Milliseconds that the wall clock may have been set for until that is noticed. */
const PERIOD = 100
/** Those that it may seem to lag behind: one that it leaves out, and some for what it drifts. */
const TOLERANCE = 1.5

/**
 * What `Date.now` says, told by `performance.now`, which is cheaper and was asked already. The one
 * follows the machine when its clock is set, the other does not: they are compared now and then.
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

  /** Of a moment that is hardly over. */
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
/** Zero: nobody has asked yet. */
let time = 0
let date = 0

/** Something was read, and is received now. */
export function beginEvent(): void {
  isEvent = true
  time = 0
  date = 0
}

export function endEvent(): void {
  isEvent = false
}

/** Milliseconds of `performance.now()`: when what was read began to be received, or now. */
export function eventTime(): number {
  if (!isEvent) return performance.now()
  if (time === 0) time = performance.now()
  return time
}

/** The same of `Date.now()`, to which it is true but for what happened to it in a tenth of a second. */
export function eventDate(): number {
  if (!isEvent) return Date.now()
  if (date === 0) date = wallClock.at(eventTime())
  return date
}
