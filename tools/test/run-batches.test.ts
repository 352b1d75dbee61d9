import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { makeBatches } from './batches.ts'
import { runWithRetry } from './retry.ts'
import { runBatches } from './run-batches.ts'

const folder = mkdtempSync(join(tmpdir(), 'batches-'))
after(() => rmSync(folder, { recursive: true }))

const GOOD = "it('is good', () => {})"
const BAD = "it('is bad', () => { throw new Error('bad') })"

function file(name: string, body: string): string {
  const path = join(folder, `${name}.test.ts`)
  writeFileSync(path, `import { it } from 'node:test'\n${body}\n`)
  return path
}

async function run(batches: readonly (readonly string[])[], runner = runBatches) {
  const lines: string[] = []
  const { NODE_TEST_CONTEXT: outer } = process.env
  // This test runs in a test runner, too.
  delete process.env['NODE_TEST_CONTEXT']
  const counts = await runner(
    batches.map((files) => ({ files, cost: 1 })),
    { processes: 2, flags: [], print: (line) => lines.push(line) },
  )
  if (outer !== undefined) process.env['NODE_TEST_CONTEXT'] = outer
  return { ...counts, text: lines.join('\n') }
}

describe('batches of test files', () => {
  it('add up what their processes count', async () => {
    const { text, ...counts } = await run([
      [file('one', `${GOOD}\n${GOOD}`)],
      [file('two', `${BAD}\nit.skip('is left out')`), file('three', GOOD)],
    ])
    assert.deepEqual(counts, { passed: 3, failed: 1, skipped: 1 })
    assert.match(text, /^failed: is bad\n {2}at .*two\.test\.ts:2:1/m)
    assert.match(text, /^skipped: is left out$/m)
    assert.doesNotMatch(text, /passed,/)
  })

  it('fail with a process that crashes, and name its files', async () => {
    const { text, ...counts } = await run([
      [file('crash', "it('kills', () => process.kill(process.pid, 'SIGKILL'))")],
      [file('fine', GOOD)],
    ])
    assert.deepEqual(counts, { passed: 1, failed: 1, skipped: 0 })
    assert.match(text, /ended by SIGKILL after .*crash\.test\.ts/)
  })

  it('fail if a process exits before its tests end, or if a file has no test', async () => {
    const early = await run([[file('early', "it('exits', () => process.exit(0))")]])
    assert.equal(early.failed, 1)
    assert.equal((await run([[file('none', '')]])).failed + 0, 0)
  })

  it('are of about equal cost, and keep the order of files', () => {
    const costs: Record<string, number> = { a: 5, b: 4, c: 3, d: 3, e: 3 }
    const batches = makeBatches(Object.keys(costs), (name) => costs[name] ?? 0, 2)
    assert.deepEqual(
      batches.map(({ files, cost }) => [files.join(''), cost]),
      [
        ['ad', 8],
        ['bce', 10],
      ].reverse(),
    )
    assert.deepEqual(makeBatches(['a'], () => 1, 5).length, 1)
  })
})

describe('a second run', () => {
  const flaky = join(folder, 'tries')
  const body = `import { appendFileSync, readFileSync } from 'node:fs'
it('passes the second time', () => {
  appendFileSync(${JSON.stringify(flaky)}, 'x')
  if (readFileSync(${JSON.stringify(flaky)}, 'utf8').length < 2) throw new Error('first')
})`

  it('names a test that passes then as unsteady, and counts it as passed', async () => {
    const { text, ...counts } = await run([[file('flaky', body), file('good', GOOD)]], runWithRetry)
    assert.deepEqual(counts, { passed: 2, failed: 0, skipped: 0 })
    assert.match(text, /^unsteady: passes the second time$/m)
    assert.equal(readFileSync(flaky, 'utf8'), 'xx')
  })

  it('changes nothing for a test that fails again', async () => {
    const { text, ...counts } = await run([[file('bad', BAD)]], runWithRetry)
    assert.deepEqual(counts, { passed: 0, failed: 1, skipped: 0 })
    assert.match(text, /^failed: is bad$/m)
  })
})
