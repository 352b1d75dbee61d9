// HOT PATH: what time it is, ten times for each request. Guarded by bench/proxy.ts.

import { performance } from 'node:perf_hooks'

/*
 * To look at the clock costs as much as to read a header. What one read of a socket brings about at
 * once can share one look: deadlines are looked at some times a second, and the first byte of a
 * response came when it was read. How long something takes that is done meanwhile must not go by it.
 */

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

/** The same of `Date.now()`. */
export function eventDate(): number {
  if (!isEvent) return Date.now()
  if (date === 0) date = Date.now()
  return date
}
