import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { readCorpus } from '../corpus/corpus.ts'
import { until } from '../proxy/whole-gateway.ts'
import { lastPassed, readLedger, type SuiteRecord } from './ledger.ts'
import { runNight } from './night.ts'
import type { Command } from './round.ts'
import type { ExploringSuite, Suite, WholeSuite } from './suites.ts'

const script = (code: string, env: Readonly<Record<string, string>> = {}): Command => ({
  program: process.execPath,
  args: ['-e', code],
  env,
})

const PASSES = script("console.log('3 passed, 0 failed (0.1 s, 0.1 s of CPU)')")

const whole = (name: string, command: Command, times = 1): WholeSuite => ({
  kind: 'whole',
  name,
  times,
  seconds: 5,
  command,
  missing: () => undefined,
})

const exploring = (name: string, code: string): ExploringSuite => ({
  kind: 'exploring',
  name,
  weight: 1,
  files: ['a.test.ts'],
  command: (_, { seed, runs }) => script(code, { SEED: String(seed), RUNS: String(runs) }),
  missing: () => undefined,
})

const FIND = JSON.stringify({ name: 'some', entry: { note: 'n', input: [1] }, error: 'e' })
const FAILS = `require('node:fs').writeFileSync(process.env.FUZZ_FOUND + '/some-1.json', '${FIND}')
console.log('failed: some test\\n0 passed, 1 failed')
process.exitCode = 1`

/** A process that has ended may stay in the table until its parent reads its status. */
function isRunning(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat[stat.lastIndexOf(')') + 2] !== 'Z'
  } catch {
    return false
  }
}

describe('a night', () => {
  let folder = ''
  let commit = 'a'
  const lines: string[] = []
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'night-'))
    lines.length = 0
    commit = 'a'
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const ledger = () => join(folder, 'ledger.jsonl')
  const run = (suites: readonly Suite[], signal = new AbortController().signal, maxRuns = 1000) =>
    runNight({
      suites,
      seconds: 3600,
      seed: 100,
      maxRuns,
      cwd: folder,
      folder: join(folder, 'state'),
      ledger: ledger(),
      corpus: folder,
      tested: () => ({ commit, isDirty: false }),
      log: (line) => void lines.push(line),
      signal,
    })
  const recordOf = (name: string, night = -1): SuiteRecord =>
    readLedger(ledger())
      .at(night)
      ?.suites.find(({ suite }) => suite === name) ?? assert.fail(name)
  const ended = (name: string) => {
    const record = recordOf(name)
    return record.outcome === 'ended' ? record : assert.fail(record.reason)
  }

  it('writes what each suite did into the ledger', async () => {
    const cases = `require('node:fs').writeFileSync(process.env.FUZZ_FOUND + '/1.cases', process.env.RUNS)
      console.log('2 passed, 0 failed')`
    await run([whole('release', PASSES, 2), exploring('fuzz', cases)])
    assert.equal(lastPassed('release', readLedger(ledger()))?.commit, 'a')
    assert.deepEqual([ended('release').rounds, ended('release').passed], [2, 6])
    const { rounds, passed, cases: drawn, seeds } = ended('fuzz')
    assert.deepEqual([rounds, passed, drawn], [2, 4, 1000])
    assert.deepEqual(seeds, [100, 60_100 + 600])
    assert.ok(!existsSync(join(folder, 'state/state.json')))
  })

  it('adds what was found to the corpus, and goes on', async () => {
    await run([exploring('fuzz', FAILS)])
    const { rounds, failed, found } = ended('fuzz')
    assert.deepEqual([rounds, failed], [3, 3])
    assert.deepEqual(found[0]?.failures, ['some test'])
    assert.deepEqual(found[0]?.corpus, ['some'])
    assert.match(found[0]?.command ?? '', /^SEED=100 RUNS=400 node -e /)
    assert.deepEqual(readCorpus('some', folder), [{ note: 'n', input: [1] }])
  })

  it('names a failure that does not repeat, and finds nothing', async () => {
    const code = `const seen = '${join(folder, 'seen')}'
      if (require('node:fs').existsSync(seen)) console.log('1 passed, 0 failed')
      else { require('node:fs').writeFileSync(seen, ''); ${FAILS} }`
    await run([exploring('fuzz', code)])
    const { failed, found, unsteady } = ended('fuzz')
    assert.deepEqual([failed, found, unsteady.length], [0, [], 1])
    assert.deepEqual(readCorpus('some', folder), [])
  })

  for (const [what, code] of [
    ['fails', "console.log('failed: x\\n4 passed, 1 failed')"],
    ['exits with an error after its counts', "console.log('4 passed, 0 failed'); process.exit(3)"],
    ['prints no counts', ''],
    ['runs no test', "console.log('0 passed, 0 failed')"],
  ] as const) {
    it(`does not count a suite as passed that ${what}`, async () => {
      await run([whole('cluster', script(code))])
      assert.ok(ended('cluster').failed > 0)
      assert.equal(lastPassed('cluster', readLedger(ledger())), undefined)
    })
  }

  it('leaves out a suite all of whose tests are skipped, with the reason', async () => {
    const code = "console.log('skipped: a node (no root)\\n0 passed, 0 failed, 2 skipped')"
    await run([whole('cluster', script(code))])
    const { outcome, ...record } = recordOf('cluster')
    assert.equal(outcome, 'left out')
    assert.match(JSON.stringify(record), /all its tests are skipped: a node \(no root\)/)
  })

  it('goes on after it was stopped, without repeating what ended', async () => {
    const ending = new AbortController()
    const waits = `require('node:fs').writeFileSync('${join(folder, 'began')}', '')
      setTimeout(() => {}, 60_000)`
    const stopping = setInterval(() => {
      if (existsSync(join(folder, 'began'))) ending.abort()
    }, 20)
    const first = whole('conformance', PASSES)
    assert.equal(await run([first, whole('cluster', script(waits))], ending.signal), undefined)
    clearInterval(stopping)
    assert.deepEqual(readLedger(ledger()), [])
    await run([whole('conformance', script('')), whole('cluster', PASSES)])
    assert.equal(ended('conformance').passed, 3)
    assert.equal(ended('cluster').passed, 3)
  })

  for (const [when, code] of [
    ['stopped', 'setInterval(() => {}, 1000)'],
    ['over', "console.log('1 passed, 0 failed')"],
  ] as const) {
    it(`leaves no process behind when it is ${when}`, async () => {
      const pidFile = join(folder, 'child')
      const starts = `const { spawn } = require('node:child_process')
const sleep = spawn('sleep', ['3600'], { stdio: 'ignore' })
sleep.unref()
require('node:fs').writeFileSync('${pidFile}', String(sleep.pid))`
      const stop = new AbortController()
      const night = run([whole('starts', script(`${starts}\n${code}`))], stop.signal)
      await until('the process', () => existsSync(pidFile) && readFileSync(pidFile).length > 0)
      const pid = Number(readFileSync(pidFile, 'utf8'))
      if (when === 'stopped') stop.abort()
      await night
      await until('its end', () => !isRunning(pid))
    })
  }

  it('ends where the last one stopped if the files are others now', async () => {
    const ending = new AbortController()
    const stop = script(`process.kill(process.ppid, 'SIGUSR2'); setTimeout(() => {}, 60_000)`)
    process.once('SIGUSR2', () => ending.abort())
    await run([whole('cluster', stop)], ending.signal)
    commit = 'b'
    await run([whole('cluster', PASSES)])
    const records = [recordOf('cluster', 0), recordOf('cluster', 1)]
    assert.deepEqual(
      records.map((record) => [record.outcome, record.commit]),
      [
        ['interrupted', 'a'],
        ['ended', 'b'],
      ],
    )
  })

  it('does not count a suite as passed if the files changed while it ran', async () => {
    writeFileSync(join(folder, 'x'), '')
    const changing = new AbortController()
    process.once('SIGUSR2', () => void (commit = 'b'))
    const code = "process.kill(process.ppid, 'SIGUSR2'); console.log('1 passed, 0 failed')"
    await run([whole('cluster', script(code))], changing.signal)
    assert.equal(ended('cluster').isDirty, true)
    assert.equal(lastPassed('cluster', readLedger(ledger())), undefined)
  })
})
