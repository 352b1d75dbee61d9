import type { Suite } from './suite.ts'

export interface Progress {
  readonly waiting: readonly Suite[]
  readonly running: readonly Suite[]
}

/**
 * The suite to start now, if one may start beside those that run: the one with the longest way to
 * the end, its own time and that of the suites that wait for it.
 */
export function nextSuite(progress: Progress, cores: number): Suite | undefined {
  const { waiting, running } = progress
  const load = running.reduce((sum, suite) => sum + suite.cores, 0)
  const mayStart = (suite: Suite) =>
    (running.length === 0 || load + suite.cores <= cores) &&
    isReady(suite, progress) &&
    !running.some(({ exclusive }) => exclusive !== undefined && exclusive === suite.exclusive)
  return waiting
    .filter(mayStart)
    .reduce<Suite | undefined>(
      (best, suite) =>
        best !== undefined && secondsToEnd(best, waiting) >= secondsToEnd(suite, waiting)
          ? best
          : suite,
      undefined,
    )
}

/** What it waits for has ended, or is not part of this run. */
function isReady({ after = [] }: Suite, { waiting, running }: Progress): boolean {
  return ![...waiting, ...running].some(({ name }) => after.includes(name))
}

function secondsToEnd(suite: Suite, waiting: readonly Suite[]): number {
  const followers = waiting.filter(({ after = [] }) => after.includes(suite.name))
  return suite.seconds + Math.max(0, ...followers.map((other) => secondsToEnd(other, waiting)))
}

/** The suites of these names, with what they use. */
export function withPreparations(
  names: readonly string[],
  all: readonly Suite[],
): readonly Suite[] {
  const chosen = all.filter(({ name }) => names.includes(name))
  const used = chosen.flatMap(({ after = [] }) => after)
  const missing = used.filter((name) => !names.includes(name))
  return missing.length === 0 ? chosen : withPreparations([...names, ...missing], all)
}

/** A busy machine takes that many times as long, for one suite and for all of them together. */
export const SLOWEST_SUITE = 4
const SLOWEST_RUN = 2
/** Whatever the suites need, a run ends before those who wait for it stop it. */
const MAX_SECONDS = 5100

/** Seconds after which a run of all these suites is stopped. */
export function limitFor(suites: readonly Suite[], cores: number): number {
  const coreSeconds = suites.reduce((sum, suite) => sum + suite.seconds * suite.cores, 0)
  const longest = Math.max(0, ...suites.map((suite) => secondsToEnd(suite, suites)))
  return Math.min(Math.max(coreSeconds / cores, longest) * SLOWEST_RUN, MAX_SECONDS)
}
