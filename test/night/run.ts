// Explores with new seeds, and runs the suites that take long, for as many hours as it is given:
//
//   npm run night -- [--hours=2 | --minutes=30] [--suites=fuzz,truth,…] [--seed=N]
//
// `--suites` also takes the beginning of a file's name (`gateway-sockets`). With FUZZ_RUNS, each
// file explores that many runs, however long it takes. A night that is stopped goes on when the
// same command runs again. At its end it adds a line to ledger.jsonl, and what it found to
// test/corpus.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { LEDGER, type Night, type Tested } from './ledger.ts'
import { runNight } from './night.ts'
import { allSuites, ROOT, type Suite } from './suites.ts'

const FOLDER = join(ROOT, '.cache/night')

const { values } = parseArgs({
  options: {
    hours: { type: 'string' },
    minutes: { type: 'string' },
    suites: { type: 'string' },
    seed: { type: 'string' },
  },
})

function secondsOf(): number {
  if (values.minutes !== undefined) return Number(values.minutes) * 60
  const isCounted = process.env['FUZZ_RUNS'] !== undefined && values.hours === undefined
  return isCounted ? Number.POSITIVE_INFINITY : Number(values.hours ?? 2) * 3600
}

function chosenSuites(): readonly Suite[] {
  const all = allSuites()
  if (values.suites === undefined) return all
  const names = values.suites.split(',')
  for (const name of names) {
    const isFile = all.some((suite) => filesOf(suite, [name]).length > 0)
    if (!isFile && !all.some((suite) => suite.name === name)) {
      throw new RangeError(`unknown suite ${name}; available: ${all.map((suite) => suite.name)}`)
    }
  }
  return all.flatMap((suite): Suite[] => {
    if (names.includes(suite.name)) return [suite]
    const files = filesOf(suite, names)
    return suite.kind === 'exploring' && files.length > 0 ? [{ ...suite, files }] : []
  })
}

function filesOf(suite: Suite, names: readonly string[]): readonly string[] {
  if (suite.kind === 'whole') return []
  return suite.files.filter((file) => names.some((name) => basename(file).startsWith(name)))
}

/** What the night itself writes is no change. */
function tested(): Tested {
  const git = (...args: readonly string[]) =>
    spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' }).stdout.trim()
  const written = ['.', ':!test/corpus/*.jsonl', ':!test/night/ledger.jsonl']
  const isDirty = git('status', '--porcelain', '--', ...written) !== ''
  return { commit: git('rev-parse', 'HEAD'), isDirty }
}

/** Two nights of one tree would take each other's state. */
function lock(): void {
  const file = join(FOLDER, 'pid')
  mkdirSync(FOLDER, { recursive: true })
  if (isRunning(file)) throw new Error(`a night is running already; if not, remove ${file}`)
  writeFileSync(file, String(process.pid))
  process.once('exit', () => rmSync(file, { force: true }))
}

function isRunning(file: string): boolean {
  try {
    process.kill(Number(readFileSync(file, 'utf8')), 0)
    return true
  } catch {
    return false
  }
}

function printNight({ suites, seconds, cpuSeconds }: Night): void {
  console.log(`\n${seconds} s, ${cpuSeconds} s of CPU`)
  for (const record of suites) {
    if (record.outcome !== 'ended') {
      console.log(`${record.suite}: ${record.outcome}: ${record.reason}`)
      continue
    }
    const { suite, rounds, passed, failed, cases = 0 } = record
    const drawn = cases === 0 ? '' : `, ${cases} cases`
    console.log(`${suite}: ${passed} passed, ${failed} failed in ${rounds} rounds${drawn}`)
    for (const { file, command } of record.unsteady) console.log(`  unsteady: ${file}: ${command}`)
    for (const { file, command, corpus = [] } of record.found) {
      console.log(
        `  found: ${file}: ${command}${corpus.map((name) => `, test/corpus/${name}.jsonl`)}`,
      )
    }
  }
}

lock()
const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => ending.abort())
const runs = process.env['FUZZ_RUNS']
const night = await runNight({
  suites: chosenSuites(),
  seconds: secondsOf(),
  seed: Number(values.seed ?? Date.now() % 1_000_000_000),
  ...(runs === undefined ? {} : { maxRuns: Number(runs) }),
  cwd: ROOT,
  folder: FOLDER,
  ledger: LEDGER,
  corpus: join(ROOT, 'test/corpus'),
  tested,
  log: (line) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`),
  signal: ending.signal,
})
if (night === undefined) process.exitCode = 2
else {
  printNight(night)
  const isFine = night.suites.every((record) => record.outcome !== 'ended' || record.failed === 0)
  process.exitCode = isFine ? 0 : 1
}
