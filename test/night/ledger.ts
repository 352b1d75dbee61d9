import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** One line for each night, in the tree: what ran at which commit, and what it found. */
export interface Night {
  /** ISO 8601, UTC */
  readonly began: string
  readonly ended: string
  readonly machine: string
  readonly seed: number
  /** Without the time during which it was stopped. */
  readonly seconds: number
  readonly cpuSeconds: number
  readonly suites: readonly SuiteRecord[]
}

/** The files that were tested. */
export interface Tested {
  readonly commit: string
  /** With changes that are in no commit. */
  readonly isDirty: boolean
}

export type SuiteRecord = Tested & { readonly suite: string } & (Ended | NotEnded)

/** Only a suite that came to its end has counts. */
export interface Ended {
  readonly outcome: 'ended'
  /** How often a whole suite ran, and how many processes explored. */
  readonly rounds: number
  /** Tests, of all rounds. */
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly seconds: number
  readonly cpuSeconds: number
  /** Only suites that explore draw cases, each round from other seeds of this range. */
  readonly cases?: number
  readonly seeds?: readonly [from: number, to: number]
  readonly found: readonly Found[]
  /** Failed once or while disturbed, and ran again with the same seed. */
  readonly unsteady: readonly Found[]
}

export interface NotEnded {
  readonly outcome: 'interrupted' | 'left out'
  readonly reason: string
  /** Failures before it was interrupted. */
  readonly found: readonly Found[]
}

export interface Found {
  readonly file: string
  readonly failures: readonly string[]
  /** Repeats it. */
  readonly command: string
  /** The files of the corpus that got an input. */
  readonly corpus?: readonly string[]
}

export const LEDGER = fileURLToPath(new URL('ledger.jsonl', import.meta.url))

/** The oldest night comes first. */
export function readLedger(file = LEDGER): readonly Night[] {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Night)
}

export function appendNight(night: Night, file = LEDGER): void {
  appendFileSync(file, `${JSON.stringify(night)}\n`)
}

export type Passed = Tested & { readonly suite: string } & Ended

/** The last time that a suite ran whole on exactly one commit, without a failure. */
export function lastPassed(suite: string, nights = readLedger()): Passed | undefined {
  return nights
    .flatMap((night) => night.suites)
    .findLast((record): record is Passed => record.suite === suite && hasPassed(record))
}

/** False for suites that were left out or interrupted, and for those that ran no test. */
export function hasPassed(record: SuiteRecord): boolean {
  if (record.outcome !== 'ended' || record.isDirty) return false
  return record.passed > 0 && record.failed === 0
}
