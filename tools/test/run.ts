import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeBatches } from './batches.ts'
import { changedFiles, testsOfChanges } from './changed-tests.ts'
import { type Counts, renderCounts } from './counts.ts'
import { runWithRetry } from './retry.ts'
import { runBatches } from './run-batches.ts'
import { expectedTime, keepTimes, readTimes } from './times.ts'
import { unitFiles } from './unit-files.ts'
import { watchFiles } from './watch-tests.ts'

const USAGE = `npm test [-- OPTIONS FILES…]

  FILES                 test files or patterns; the unit tier by default
  --changed[=COMMIT]    only tests that import a file that changed since COMMIT (HEAD by default)
  --watch               the same whenever a file is saved
  --processes=N         how many run at a time; the number of cores by default, at most 4
  --batches=N           how many processes share the files; three times --processes by default
  --retry               runs files with a failure once more, by themselves
  --optimize            with V8's optimizing compiler, which costs more than it saves in short tests
`

const { values, positionals } = parseArgs({
  args: process.argv.slice(2).map((arg) => (arg === '--changed' ? '--changed=HEAD' : arg)),
  allowPositionals: true,
  options: {
    changed: { type: 'string' },
    watch: { type: 'boolean', default: false },
    processes: { type: 'string' },
    batches: { type: 'string' },
    optimize: { type: 'boolean', default: false },
    retry: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

// Sources are parsed once and not by each process anew.
process.env['NODE_COMPILE_CACHE'] ??= join(process.cwd(), '.cache/compiled')
const processes = Number(values.processes ?? Math.min(4, availableParallelism()))
const flags = values.optimize ? [] : ['--no-turbofan']
/** Batches for each process: they end at about the same time, and none has to keep all in memory. */
const ROUNDS = 3

/** Milliseconds that the tests of a change may take in each process. */
const CHANGED_MS = 45_000

if (values.help) process.stdout.write(USAGE)
else if (values.watch) await watchFiles((files) => runFiles(testsOf(files)))
else {
  const counts = await runFiles(chosenFiles())
  process.exitCode = counts.failed > 0 ? 1 : 0
}

function chosenFiles(): readonly string[] {
  if (values.changed !== undefined) return testsOf(changedFiles(values.changed))
  if (positionals.length === 0) return unitFiles()
  const files = globSync(positionals).sort()
  if (files.length === 0) throw new RangeError(`no file matches ${positionals.join(' ')}`)
  return files
}

/** The tests of the unit tier that depend on changed files, as many as fit in the time. */
function testsOf(changed: readonly string[]): readonly string[] {
  const { files, leftOut } = testsOfChanges(
    changed,
    unitFiles(),
    readTimes(),
    CHANGED_MS * processes,
  )
  console.log(`${changed.length} changed files: ${files.length} test files depend on them`)
  if (leftOut.length > 0) console.log(`left out, further away: ${leftOut.length} test files`)
  return files
}

async function runFiles(files: readonly string[]): Promise<Counts> {
  const recorded = join(tmpdir(), `test-times-${process.pid}.jsonl`)
  writeFileSync(recorded, '')
  process.env['TEST_TIMES'] = recorded
  const times = readTimes()
  const started = performance.now()
  const count = Number(values.batches ?? processes * ROUNDS)
  const batches = makeBatches(files, (file) => expectedTime(file, times), count)
  const print = (line: string) => console.log(line)
  const run = values.retry ? runWithRetry : runBatches
  const counts = await run(batches, { processes, flags, print })
  keepTimes(readRecorded(recorded))
  rmSync(recorded)
  console.log(`${renderCounts(counts)} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
  return counts
}

function readRecorded(path: string): Record<string, number> {
  const times: Record<string, number> = {}
  for (const line of readFileSync(path, 'utf8').split('\n').filter(Boolean)) {
    const [file, milliseconds] = JSON.parse(line) as [string, number]
    times[file] = (times[file] ?? 0) + milliseconds
  }
  return times
}
