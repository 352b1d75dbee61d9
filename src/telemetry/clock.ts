/** Microseconds since 1970, an integer. */
export type Clock = () => number

/** How far, in ms, the fine clock may drift from the coarse one before it is reset. */
const TOLERANCE = 2

/**
 * The wall clock in microseconds. `performance.now` is precise but drifts, `Date.now` is coarse but
 * follows changes of the system clock: the precise clock is used as long as they agree.
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
