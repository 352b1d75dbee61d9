import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { thisMachine } from './machine.ts'
import { type RunOptions, runSuites } from './run-suites.ts'
import type { Suite } from './suite.ts'

const logs = mkdtempSync(join(tmpdir(), 'ci-test-'))
after(() => rmSync(logs, { recursive: true }))

function suite(name: string, script: string, more: Partial<Suite> = {}): Suite {
  const command = ['bash', '-c', script]
  return { name, kind: 'tests', command, seconds: 100, cores: 1, ...more }
}

async function run(suites: readonly Suite[], options: Partial<RunOptions> = {}) {
  const printed: string[] = []
  const reports = await runSuites(suites, {
    cores: 4,
    limit: 60,
    logs,
    machine: thisMachine(),
    whyLeftOut: () => undefined,
    print: (line) => printed.push(line),
    ...options,
  })
  const results = reports.map(({ name, passed, failed, skipped, outcome: { result } }) => {
    return `${name} ${result} ${passed} ${failed} ${skipped}`
  })
  return { results, printed: printed.join('\n'), reports }
}

const GOOD = 'echo 3 passed, 0 failed'

describe('a run of suites', () => {
  it('counts suites that pass', async () => {
    const { results } = await run([suite('a', GOOD), suite('b', 'echo "2 passed, 0 failed (1 s)"')])
    assert.deepEqual(results, ['a passed 3 0 0', 'b passed 2 0 0'])
  })

  it('fails suites that end without counts, count nothing or end with an exit code', async () => {
    const { results, printed } = await run([
      suite('silent', 'true'),
      suite('empty', 'echo 0 passed, 0 failed'),
      suite('crashed', `${GOOD}; exit 3`),
      suite('killed', 'kill -9 $$'),
      suite('failing', 'echo failed: x; echo 3 passed, 2 failed; exit 1'),
    ])
    assert.deepEqual(results, [
      'silent failed 0 1 0',
      'empty failed 0 1 0',
      'crashed failed 3 1 0',
      'killed failed 0 1 0',
      'failing failed 3 2 0',
    ])
    assert.match(printed, /ended with exit code 3/)
    assert.match(printed, /no test was counted/)
    assert.match(printed, / {4}failed: x/)
  })

  it('fails suites that only skip, or skip what the list does not allow', async () => {
    const { results, printed } = await run([
      suite('skipping', 'echo "skipped: a (no time)"; echo 5 passed, 0 failed, 1 skipped'),
      suite('only', 'echo 0 passed, 0 failed, 5 skipped; exit 1'),
    ])
    assert.deepEqual(results, ['skipping failed 5 1 1', 'only failed 0 1 5'])
    assert.match(printed, /not in the list of what may be skipped .*skipped: a \(no time\)/)
  })

  it('stops a suite that takes too long, with everything that it started', async () => {
    const script = `${GOOD}; (trap '' TERM; sleep 50) & sleep 50`
    const started = performance.now()
    const { results, printed } = await run([suite('endless', script, { seconds: 0.2 })])
    assert.deepEqual(results, ['endless failed 3 1 0'])
    assert.match(printed, /did not end/)
    assert.ok(performance.now() - started < 30_000)
  })

  it('fails what did not run before the time was over', async () => {
    const { results, printed } = await run(
      [
        suite('first', 'sleep 30', { seconds: 300 }),
        suite('second', GOOD, { after: ['first'] }),
        suite('third', GOOD, { after: ['second'] }),
      ],
      { limit: 0.5 },
    )
    assert.deepEqual(results, ['first failed 0 1 0', 'second failed 0 1 0', 'third failed 0 1 0'])
    assert.match(printed, /third +failed.*\n +it did not run/)
  })

  it('fails suites that wait for each other', async () => {
    const { results } = await run([
      suite('a', GOOD, { after: ['b'] }),
      suite('b', GOOD, { after: ['a'] }),
    ])
    assert.ok(results.includes('a failed 0 1 0'))
  })

  it('names what is left out, with its reason', async () => {
    const { results, printed } = await run([suite('a', GOOD), suite('b', GOOD)], {
      whyLeftOut: (name) => (name === 'b' ? 'no Go' : undefined),
    })
    assert.deepEqual(results, ['a passed 3 0 0', 'b left out 0 0 0'])
    assert.match(printed, /b +left out: no Go/)
  })

  it('counts a step as one, and a preparation not at all', async () => {
    const { results } = await run([
      suite('good', 'true', { kind: 'step' }),
      suite('bad', 'false', { kind: 'step' }),
      suite('tools', 'false', { kind: 'preparation' }),
    ])
    assert.deepEqual(results, ['good passed 1 0 0', 'bad failed 0 1 0', 'tools failed 0 0 0'])
  })

  it('measures the CPU time of what a suite starts', async () => {
    const busy = 'node -e "for (let i = 0; i < 5e8; i++);"'
    const { reports } = await run([suite('busy', `${busy}; ${GOOD}`)])
    assert.ok((reports[0]?.cpuSeconds ?? 0) > 0.05)
  })
})
