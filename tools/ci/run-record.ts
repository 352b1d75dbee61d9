import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import type { Tree } from './changes.ts'
import type { SuiteReport } from './suite.ts'

/** Which suites ran for which tree, and how they ended. */
export interface RunRecord extends Tree {
  readonly began: string
  readonly seconds: number
  readonly cores: number
  /** The share of the time in which the cores had nothing to do. */
  readonly idle: number
  readonly seed: number
  readonly hasPassed: boolean
  readonly suites: readonly Omit<SuiteReport, 'lines'>[]
}

/** Relative to the root. */
export const RUN_RECORD = '.cache/ci/run.json'

export function makeRecord(
  tree: Tree,
  reports: readonly SuiteReport[],
  run: Pick<RunRecord, 'seconds' | 'idle' | 'seed'> & { readonly began: Date },
): RunRecord {
  const rounded = (seconds: number) => Math.round(seconds * 10) / 10
  return {
    ...tree,
    began: run.began.toISOString(),
    seconds: rounded(run.seconds),
    cores: availableParallelism(),
    idle: Math.round(run.idle * 100) / 100,
    seed: run.seed,
    hasPassed: reports.every(({ outcome }) => outcome.result !== 'failed'),
    suites: reports.map(({ lines, ...report }) => ({
      ...report,
      seconds: rounded(report.seconds),
      cpuSeconds: rounded(report.cpuSeconds),
    })),
  }
}

export function writeRecord(record: RunRecord, path = RUN_RECORD): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, `${JSON.stringify(record, undefined, 2)}\n`)
}

/** One line for each suite, so that a log alone says what ran. */
export function renderRecord({
  commit,
  tree,
  isDirty,
  suites,
  seed,
}: RunRecord): readonly string[] {
  const change = isDirty ? ', with changes that are in no commit' : ''
  return [
    `ran: commit ${commit}, tree ${tree}${change}, seed ${seed}`,
    ...suites.map(({ name, outcome, seconds, cpuSeconds, ...counts }) => {
      if (outcome.result === 'left out') return `ran: ${name} left out: ${outcome.reason}`
      const { passed, failed, skipped } = counts
      const time = `${Math.round(seconds)} s, ${Math.round(cpuSeconds)} s of CPU`
      return `ran: ${name} ${outcome.result}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${time}`
    }),
  ]
}
