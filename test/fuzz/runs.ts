import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { threadId } from 'node:worker_threads'

export interface Runs {
  readonly numRuns: number
  readonly seed: number
}

/**
 * The number of fuzz runs: FUZZ_RUNS in total (a few hundred in CI, more at night), of which each
 * property takes its share. Without FUZZ_RUNS, the runs are few and always the same, so that the
 * unit tier never fails by chance. A failure prints its seed; FUZZ_SEED repeats it. `min` is for
 * properties that cost so much that their share is small, but that prove nothing with fewer runs.
 */
export function fuzz(share: number, min = 1): Runs {
  const { FUZZ_RUNS: runs, FUZZ_SEED: seed } = process.env
  const inAll = runs === undefined ? 120 : Number(runs)
  const fallback = runs === undefined ? 26 : Date.now() % 0x7fffffff
  const chosen = seed === undefined ? fallback : Number(seed)
  const numRuns = Math.max(min, Math.round(inAll * share))
  countForNight(numRuns)
  return { numRuns, seed: chosen }
}

let counted = 0

/** A night sums the cases of its processes, which each writes when it ends. */
function countForNight(cases: number): void {
  const folder = process.env['FUZZ_FOUND']
  if (folder === undefined) return
  if (counted === 0) {
    process.once('exit', () => {
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `${process.pid}-${threadId}.cases`), String(counted))
    })
  }
  counted += cases
}
