import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { RUN_RECORD, type RunRecord } from '../tools/ci/run-record.ts'
import type { Report, Table } from './report.ts'

const RESULTS = fileURLToPath(new URL('RESULTS.md', import.meta.url))
const TITLE = 'Runs'
const MAX_SECONDS = 1200

/** Records the last whole run of `.ci/run` in this tree: a line for the run, and its suites. */
export async function landing(): Promise<Report> {
  if (!existsSync(RUN_RECORD)) throw new Error(`no run of .ci/run is recorded in ${RUN_RECORD}`)
  const record: RunRecord = JSON.parse(readFileSync(RUN_RECORD, 'utf8'))
  const { suites, seconds, hasPassed } = record
  const cpuSeconds = suites.reduce((sum, suite) => sum + suite.cpuSeconds, 0)
  const leftOut = suites.filter(({ outcome }) => outcome.result === 'left out')
  const passed = suites.reduce((sum, suite) => sum + suite.passed, 0)
  const row = [
    record.began.slice(0, 10),
    record.commit.slice(0, 8),
    `${Math.round(seconds)} s`,
    `${Math.round(cpuSeconds)} s`,
    String(passed),
    hasPassed ? 'passed' : 'failed',
    leftOut.map(({ name }) => name).join(', ') || '–',
  ]
  return {
    intro: [
      'What `.ci/run` takes in a fresh clone on two cores, after `npm ci`. CPU is that of the suites',
      'and what they start. A line is added with every recorded run; the suites are of the newest.',
    ],
    targets: [
      {
        what: 'a landing, wall time',
        wanted: `≤ ${MAX_SECONDS} s`,
        measured: `${Math.round(seconds)} s`,
        met: seconds <= MAX_SECONDS && hasPassed,
      },
    ],
    tables: [runs(row), suitesOf(record)],
  }
}

function runs(row: readonly string[]): Table {
  return {
    title: TITLE,
    columns: ['date', 'commit', 'wall', 'CPU', 'tests', 'result', 'left out'],
    rows: [...recordedRuns(), row],
  }
}

/** The lines of earlier runs, as RESULTS.md has them. */
function recordedRuns(): readonly (readonly string[])[] {
  const section = readFileSync(RESULTS, 'utf8').split(/^(?=## )/m)
  const text = section.find((part) => part.startsWith('## landing\n')) ?? ''
  return [...text.matchAll(/^\| (\d{4}-\d\d-\d\d .*) \|$/gm)].map(([, cells = '']) =>
    cells.split('|').map((cell) => cell.trim()),
  )
}

function suitesOf({ suites }: RunRecord): Table {
  const ran = suites.filter(({ outcome }) => outcome.result !== 'left out')
  return {
    title: 'Suites',
    columns: ['suite', 'wall', 'CPU', 'idle', 'passed', 'failed', 'skipped'],
    rows: ran.map(({ name, seconds, cpuSeconds, passed, failed, skipped }) => [
      name,
      `${Math.round(seconds)} s`,
      `${Math.round(cpuSeconds)} s`,
      `${Math.round(100 * Math.max(0, 1 - cpuSeconds / seconds))} %`,
      ...[passed, failed, skipped].map(String),
    ]),
  }
}
