import type { ExploringSuite, Suite, WholeSuite } from './suites.ts'

/** The share of a night that whole suites may take if others explore. */
const MAX_WHOLE = 0.6
/** Seconds that a round of an exploring suite should take. */
const ROUND = 60
/** Generated code stays in memory as long as its process runs. */
const MAX_RUNS = 20_000
const FIRST_RUNS = 400
const MIN_RUNS = 300
const MAX_GROWTH = 4

export interface Plan {
  readonly whole: readonly WholeSuite[]
  readonly exploring: readonly ExploringSuite[]
  /** By name, the reason why it does not run. */
  readonly leftOut: ReadonlyMap<string, string>
}

/** The suites that fit into a night of this many seconds. */
export function planNight(suites: readonly Suite[], seconds: number): Plan {
  const leftOut = new Map<string, string>()
  const able = suites.filter((suite) => {
    const reason = suite.missing()
    if (reason !== undefined) leftOut.set(suite.name, reason)
    return reason === undefined
  })
  const exploring = able.filter((suite) => suite.kind === 'exploring')
  let left = exploring.length === 0 ? seconds : seconds * MAX_WHOLE
  const whole = able
    .filter((suite) => suite.kind === 'whole')
    .filter((suite) => {
      const needed = suite.seconds * suite.times
      if (needed <= left) left -= needed
      else
        leftOut.set(
          suite.name,
          `it takes ${needed} s, and ${Math.max(0, Math.floor(left))} s are left for it`,
        )
      return !leftOut.has(suite.name)
    })
  return { whole, exploring, leftOut }
}

/** The suite that is furthest behind its share of the time. */
export function nextSuite(
  suites: readonly ExploringSuite[],
  spent: (name: string) => number,
): ExploringSuite | undefined {
  const behind = (suite: ExploringSuite) => spent(suite.name) / suite.weight
  return suites.toSorted((a, b) => behind(a) - behind(b))[0]
}

/** What is known of a file after its last round. */
export interface FileState {
  readonly rounds: number
  readonly runs: number
  /** All runs of all rounds. */
  readonly inAll: number
  readonly failed: number
  readonly seconds: number
}

export const NEW_FILE: FileState = { rounds: 0, runs: FIRST_RUNS, inAll: 0, failed: 0, seconds: 0 }

/** The file that explored least. */
export function nextFile(
  files: readonly string[],
  state: (file: string) => FileState,
): string | undefined {
  return files.toSorted((a, b) => state(a).seconds - state(b).seconds)[0]
}

interface RoundTime {
  readonly seconds: number
  readonly cpuSeconds: number
}

/** The runs with which a round takes about a minute on a free core, also if this one is busy. */
export function runsAfter(runs: number, { seconds, cpuSeconds }: RoundTime): number {
  const free = Math.max(0.1, cpuSeconds, seconds / 4)
  const fitting = Math.round((runs * ROUND) / free)
  return Math.max(MIN_RUNS, Math.min(MAX_RUNS, runs * MAX_GROWTH, fitting))
}
