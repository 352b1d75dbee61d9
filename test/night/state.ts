import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Found, Night, SuiteRecord, Tested } from './ledger.ts'
import { machine, type Round } from './round.ts'
import { type FileState, NEW_FILE } from './schedule.ts'

/** What a night did so far; stored after each round, so that a stopped night goes on from there. */
export interface NightState {
  readonly tested: Tested
  readonly began: string
  readonly seed: number
  /** Of the next round. */
  nextSeed: number
  seconds: number
  cpuSeconds: number
  readonly suites: Record<string, SuiteState>
}

export interface SuiteState {
  status: 'due' | 'running' | 'ended' | 'left out'
  reason?: string
  /** Files changed while it ran. */
  isDirty: boolean
  rounds: number
  passed: number
  failed: number
  skipped: number
  seconds: number
  cpuSeconds: number
  cases: number
  seeds?: [number, number]
  readonly found: Found[]
  readonly unsteady: Found[]
  readonly files: Record<string, FileState>
}

const newSuite = (): SuiteState => ({
  status: 'due',
  isDirty: false,
  rounds: 0,
  passed: 0,
  failed: 0,
  skipped: 0,
  seconds: 0,
  cpuSeconds: 0,
  cases: 0,
  found: [],
  unsteady: [],
  files: {},
})

export function newNight(tested: Tested, seed: number): NightState {
  const began = new Date().toISOString()
  return { tested, began, seed, nextSeed: seed, seconds: 0, cpuSeconds: 0, suites: {} }
}

export const suiteIn = (state: NightState, name: string): SuiteState =>
  (state.suites[name] ??= newSuite())

export const fileIn = (suite: SuiteState, file: string): FileState => suite.files[file] ?? NEW_FILE

/** Counts what a round says about its suite. */
export function addCounts(suite: SuiteState, { counts, cases }: Round): void {
  suite.rounds++
  suite.passed += counts?.passed ?? 0
  suite.failed += counts?.failed ?? 0
  suite.skipped += counts?.skipped ?? 0
  suite.cases += cases
}

/** Counts the time of a round, whatever becomes of it. */
export function addTime(
  state: NightState,
  suite: SuiteState,
  { seconds, cpuSeconds }: Round,
): void {
  for (const own of [state, suite]) {
    own.seconds += seconds
    own.cpuSeconds += cpuSeconds
  }
}

/** The line for the ledger. */
export function nightOf(state: NightState): Night {
  return {
    began: state.began,
    ended: new Date().toISOString(),
    machine: machine(),
    seed: state.seed,
    seconds: Math.round(state.seconds),
    cpuSeconds: Math.round(state.cpuSeconds),
    suites: Object.entries(state.suites).map(([name, suite]) =>
      recordOf(name, suite, state.tested),
    ),
  }
}

function recordOf(suite: string, own: SuiteState, { commit, isDirty }: Tested): SuiteRecord {
  const about = { suite, commit, isDirty: isDirty || own.isDirty, found: own.found }
  if (own.status === 'running') {
    return { ...about, outcome: 'interrupted', reason: `after ${Math.round(own.seconds)} s` }
  }
  if (own.status !== 'ended') {
    return { ...about, outcome: 'left out', reason: own.reason ?? 'the night ended before it' }
  }
  const { rounds, passed, failed, skipped, cases, seeds, unsteady } = own
  const drawn = seeds === undefined ? {} : { cases, seeds }
  const time = { seconds: Math.round(own.seconds), cpuSeconds: Math.round(own.cpuSeconds) }
  return {
    ...about,
    outcome: 'ended',
    rounds,
    passed,
    failed,
    skipped,
    ...time,
    ...drawn,
    unsteady,
  }
}

/** The state in a folder. */
export class StateFile {
  readonly #folder: string
  readonly #file: string

  constructor(folder: string) {
    this.#folder = folder
    this.#file = join(folder, 'state.json')
  }

  read(): NightState | undefined {
    try {
      return JSON.parse(readFileSync(this.#file, 'utf8')) as NightState
    } catch {
      return undefined
    }
  }

  /** In one step, so that a night that is killed leaves the earlier state or this one. */
  write(state: NightState): void {
    mkdirSync(this.#folder, { recursive: true })
    writeFileSync(`${this.#file}.new`, JSON.stringify(state))
    renameSync(`${this.#file}.new`, this.#file)
  }

  remove(): void {
    rmSync(this.#file, { force: true })
  }
}
