// Runs the suites of `.ci/run` side by side, counts them and leaves a record:
//
//   node tools/ci/run.ts [--limit=SECONDS] [--only=SUITE,…]
//
// `--only` is for trying out; such a run does not pass.

import { mkdirSync, mkdtempSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { baseOfChange, historyOfTree, treeOf } from './changes.ts'
import { whyLeftOut } from './left-out.ts'
import { thisMachine, watchIdleTime } from './machine.ts'
import { makeRecord, renderRecord, writeRecord } from './run-record.ts'
import { endSuites } from './run-suite.ts'
import { runSuites } from './run-suites.ts'
import { limitFor, withPreparations } from './schedule.ts'
import { suitesOf } from './suites.ts'

const { values } = parseArgs({
  options: { limit: { type: 'string' }, only: { type: 'string' } },
})

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    endSuites()
    process.exit(1)
  })
}

process.env['NODE_COMPILE_CACHE'] ??= join(process.cwd(), '.cache/compiled')
const began = new Date()
const idleTime = watchIdleTime()
const tree = treeOf()
// New for each tree, and the same whenever this tree is judged.
const seed = Number(process.env['FUZZ_SEED'] ?? Number.parseInt(tree.tree.slice(0, 7), 16))
const facts = { machine: thisMachine(), history: historyOfTree }
const names = values.only?.split(',')
const all = suitesOf({ seed, base: baseOfChange() })
const suites = names === undefined ? all : withPreparations(names, all)
const logs = join(tmpdir(), 'portcullis-ci')
mkdirSync(logs, { recursive: true })

const reports = await runSuites(suites, {
  // A little more than there is: suites also wait.
  cores: availableParallelism() * 1.3,
  limit: Number(
    values.limit ?? process.env['CI_LIMIT'] ?? limitFor(suites, availableParallelism()),
  ),
  logs: mkdtempSync(join(logs, 'run-')),
  machine: facts.machine,
  whyLeftOut: (name) => whyLeftOut(name, facts),
  print: (line) => console.log(line),
})

const record = makeRecord(tree, reports, {
  began,
  seconds: (Date.now() - began.getTime()) / 1000,
  idle: idleTime(),
  seed,
})
writeRecord(record)
for (const line of renderRecord(record)) console.log(line)
const sum = (of: 'passed' | 'failed' | 'skipped') =>
  reports.reduce((total, report) => total + report[of], 0)
const skipped = sum('skipped')
if (names !== undefined) console.log(`only ${names.join(', ')}: this is no whole run`)
console.log(
  `in all ${Math.round(record.seconds)} s, cores idle for ${Math.round(record.idle * 100)} %`,
)
console.log(
  `${sum('passed')} passed, ${sum('failed')} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`,
)
process.exitCode = record.hasPassed && sum('failed') === 0 && sum('passed') > 0 && !names ? 0 : 1
