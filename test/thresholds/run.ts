import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Group, Setting } from './threshold.ts'

const ROOT = join(import.meta.dirname, '../..')
const REWRITE = pathToFileURL(join(import.meta.dirname, 'rewrite.ts')).href

export interface Outcome {
  readonly isPassed: boolean
  readonly output: string
  /** For each threshold of the group, how often its comparisons were false and true. */
  readonly sides: readonly (readonly [no: number, yes: number])[]
}

/** Runs the tests of a group in a process of their own, with all thresholds as `setting` says. */
export async function runWith(group: Group, setting: Setting): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'thresholds-'))
  const report = join(folder, 'sides')
  const {
    NODE_TEST_CONTEXT: _context,
    FUZZ_RUNS: _runs,
    FUZZ_SEED: seed = '26',
    THRESHOLD_RUNS: runs = group.runs,
    ...environment
  } = process.env
  const env = {
    ...environment,
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import=${REWRITE}`,
    ...(runs === undefined ? {} : { FUZZ_RUNS: String(runs), FUZZ_SEED: seed }),
    THRESHOLDS: setting,
    THRESHOLDS_GROUP: group.name,
    THRESHOLDS_REPORT: report,
  }
  const args = [
    '--no-turbofan',
    '--test',
    '--test-isolation=none',
    '--test-reporter=./tools/test-reporter.ts',
    ...(group.except ?? []).map((title) => `--test-skip-pattern=${title}`),
    ...globSync(group.tests, { cwd: ROOT }).sort(),
  ]
  const [isPassed, output] = await new Promise<[boolean, string]>((resolve) => {
    execFile(process.execPath, args, { cwd: ROOT, env, maxBuffer: 1e9 }, (error, out, errors) =>
      resolve([error === null, `${out}${errors}${error?.signal ?? ''}`]),
    )
  })
  const sides = group.thresholds.map((): [number, number] => [0, 0])
  // A process that was killed has no report; its output says more.
  const lines = existsSync(report) ? readFileSync(report, 'utf8').trimEnd().split('\n') : []
  for (const line of lines) {
    const counts = JSON.parse(line) as readonly (readonly [number, number])[]
    counts.forEach(([no, yes], index) => {
      const sum = sides[index] as [number, number]
      sum[0] += no
      sum[1] += yes
    })
  }
  rmSync(folder, { recursive: true })
  return { isPassed, output, sides }
}
