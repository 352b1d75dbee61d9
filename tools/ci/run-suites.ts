import { renderCounts } from '../test/counts.ts'
import type { Machine } from './machine.ts'
import { runSuite } from './run-suite.ts'
import { nextSuite } from './schedule.ts'
import type { Suite, SuiteReport } from './suite.ts'

export interface RunOptions {
  readonly cores: number
  /** Seconds after which everything that still runs or waits has failed. */
  readonly limit: number
  readonly logs: string
  readonly machine: Machine
  readonly whyLeftOut: (suite: string) => string | undefined
  readonly print: (line: string) => void
}

/** Runs all suites, as many at a time as there are cores for, and returns a report for each. */
export async function runSuites(
  suites: readonly Suite[],
  { cores, limit, logs, machine, whyLeftOut, print }: RunOptions,
): Promise<readonly SuiteReport[]> {
  const started = performance.now()
  const secondsLeft = () => limit - (performance.now() - started) / 1000
  const reports = new Map<string, SuiteReport>()
  const finish = (report: SuiteReport) => {
    reports.set(report.name, report)
    for (const line of renderReport(report)) print(line)
  }
  const waiting: Suite[] = []
  for (const suite of suites) {
    const reason = whyLeftOut(suite.name)
    if (reason === undefined) waiting.push(suite)
    else finish(leftOut(suite, reason))
  }
  const running = new Map<Suite, Promise<void>>()
  while (waiting.length > 0 || running.size > 0) {
    for (;;) {
      const suite = nextSuite({ waiting, running: [...running.keys()] }, cores)
      if (suite === undefined) break
      waiting.splice(waiting.indexOf(suite), 1)
      if (secondsLeft() <= 0) {
        finish(notRun(suite, limit))
        continue
      }
      const end = runSuite(suite, { secondsLeft: secondsLeft(), logs, machine }).then((report) => {
        running.delete(suite)
        finish(report)
      })
      running.set(suite, end)
    }
    if (running.size === 0 && waiting.length > 0) {
      const [suite] = waiting.splice(0, 1)
      if (suite !== undefined) finish(notRun(suite, limit, 'what it waits for never ends'))
    }
    if (running.size > 0) await Promise.race(running.values())
  }
  return suites.map(({ name }) => reports.get(name) as SuiteReport)
}

const NOTHING_RAN = { passed: 0, failed: 0, skipped: 0, seconds: 0, cpuSeconds: 0 }

function leftOut({ name }: Suite, reason: string): SuiteReport {
  return { ...NOTHING_RAN, name, outcome: { result: 'left out', reason }, lines: [] }
}

function notRun({ name }: Suite, limit: number, why?: string): SuiteReport {
  const lines = [why ?? `it did not run: ${Math.round(limit)} s were over`]
  return { ...NOTHING_RAN, name, failed: 1, outcome: { result: 'failed' }, lines }
}

function renderReport({ name, outcome, seconds, cpuSeconds, lines, ...counts }: SuiteReport) {
  const title = name.padEnd(13)
  if (outcome.result === 'left out') return [`${title} left out: ${outcome.reason}`]
  const time = `${Math.round(seconds)} s, ${Math.round(cpuSeconds)} s of CPU`
  const head = `${title} ${outcome.result}: ${renderCounts(counts)} in ${time}`
  return [head, ...lines.map((line) => `    ${line}`)]
}
