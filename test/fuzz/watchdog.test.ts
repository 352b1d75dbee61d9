import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, it } from 'node:test'

const MODULE = JSON.stringify(new URL('watchdog.ts', import.meta.url).href)

/** The process ends by a signal if the watchdog kills it. */
function run(body: string) {
  const script = `import { startWatchdog } from ${MODULE}
    const dog = startWatchdog(200)
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
    ${body}
    await dog.stop()`
  const flags = ['--input-type=module', '--eval', script]
  return spawnSync(process.execPath, flags, { encoding: 'utf8', timeout: 20_000 })
}

describe('the watchdog', () => {
  it('names a text that hangs, and kills the process', () => {
    const { signal, stderr } = run(`dog.watch('x ? "y"', () => { for (;;); })`)
    assert.equal(signal, 'SIGKILL')
    assert.match(stderr, /a text that hangs: "x \? \\"y\\""/)
  })

  for (const [when, body] of [
    ['before the first text', 'await wait(600)'],
    ['between texts', `dog.watch('a', () => {}); await wait(600); dog.watch('b', () => {})`],
    [
      'after a text that threw',
      `try { dog.watch('a', () => { throw 1 }) } catch {} await wait(600)`,
    ],
  ] as const) {
    it(`stays quiet ${when}, however long that takes`, () => {
      const { signal, status, stderr } = run(body)
      assert.deepEqual({ signal, status, stderr }, { signal: null, status: 0, stderr: '' })
    })
  }
})
