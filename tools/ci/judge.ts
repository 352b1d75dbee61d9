import { type Counts, NO_TESTS, parseCounts, total } from '../test/counts.ts'
import { isAllowedSkip } from './left-out.ts'
import type { Machine } from './machine.ts'
import type { Suite, SuiteReport } from './suite.ts'

/** How a suite ended. */
export interface End {
  readonly code: number | null
  readonly log: string
  /** Seconds after which it was stopped, if it was. */
  readonly stoppedAfter: number | undefined
  readonly seconds: number
  readonly cpuSeconds: number
}

/** Lines of a suite that passed which a reader should know. */
const NOTES = /^\s*(skipped|result|idle|unsteady|not known|seed|survived|left out): ?/

/**
 * A suite has passed if it ended by itself with exit code 0, counted at least one test and no
 * failure, and skipped only what the list allows.
 */
export function judge(
  { name, kind }: Suite,
  { code, log, stoppedAfter, seconds, cpuSeconds }: End,
  machine: Machine,
): SuiteReport {
  const lines = log.split('\n').filter((line) => line !== '')
  const skips = lines.filter((line) => line.startsWith('skipped: '))
  const complaints = skips
    .filter((line) => !isAllowedSkip(name, line, machine))
    .map((line) => `not in the list of what may be skipped (tools/ci/left-out.ts): ${line}`)
  if (stoppedAfter !== undefined)
    complaints.push(`stopped after ${Math.round(stoppedAfter)} s: it did not end`)
  else if (code !== 0) complaints.push(`ended with exit code ${code}`)
  const counts = kind === 'tests' ? lastCounts(lines) : NO_TESTS
  if (counts === undefined || (kind === 'tests' && total(counts) === 0))
    complaints.push('no test was counted')
  const { passed, failed, skipped } = counts ?? NO_TESTS
  const isUnsteady = lines.some((line) => line.startsWith('unsteady: '))
  const isGood = complaints.length === 0 && failed === 0
  return {
    name,
    passed: kind === 'step' && isGood ? 1 : passed,
    failed: isGood || kind === 'preparation' ? 0 : Math.max(failed, 1),
    skipped,
    seconds,
    cpuSeconds,
    outcome: { result: isGood ? 'passed' : 'failed' },
    lines:
      isGood && !isUnsteady ? lines.filter((line) => NOTES.test(line)) : [...lines, ...complaints],
  }
}

function lastCounts(lines: readonly string[]): Counts | undefined {
  return lines.map(parseCounts).findLast((counts) => counts !== undefined)
}
