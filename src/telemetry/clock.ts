/** Microseconds since 1970, a whole number. */
export type Clock = () => number

/** How far, in ms, the fine clock may drift from the coarse one before it is set again. */
const TOLERANCE = 2

/**
 * The wall clock to the microsecond. `performance.now` is fine but runs on its own, `Date.now` is
 * coarse but follows the machine when its clock is set: the first is used for as long as they agree.
 */
export function createClock(fine = () => performance.now(), coarse = () => Date.now()): Clock {
  let origin = coarse() - fine()
  return () => {
    const elapsed = fine()
    const wall = coarse()
    const drift = origin + elapsed - wall
    if (drift > TOLERANCE || drift < -TOLERANCE) origin = wall - elapsed
    return Math.floor((origin + elapsed) * 1000)
  }
}
