import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { describe, it } from 'node:test'
import { StderrTail } from './stderr-tail.ts'

/** Runs a script to its exit; returns what the tail kept and passed on. */
async function run(script: string) {
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'pipe'] })
  let passed = ''
  const tail = new StderrTail(child.stderr as Readable, (text) => {
    passed += text
  })
  const signal = await new Promise((resolve) => child.once('exit', (_, name) => resolve(name)))
  return { text: await tail.read(), signal, passed }
}

describe('the end of what a process wrote to stderr', () => {
  it('contains the stack trace of a process that aborted, which is also passed on', async () => {
    const { text, signal, passed } = await run('process.abort()')
    assert.equal(signal, 'SIGABRT')
    assert.match(text ?? '', /Native stack trace/)
    assert.equal(passed.trim(), text)
  })

  it('is limited to the last 8,192 characters', async () => {
    const { text, passed } = await run("require('fs').writeSync(2, 'x'.repeat(20_000) + 'end')")
    assert.equal(text, `${'x'.repeat(8_192 - 3)}end`)
    assert.equal(passed.length, 20_003)
  })

  it('is undefined if the process wrote nothing', async () => {
    assert.equal((await run('')).text, undefined)
  })

  it('is read although a process that outlives it holds its stderr', async () => {
    const hold = "stdio: ['ignore', 'ignore', 'inherit'], detached: true"
    const { text } = await run(`
      const args = ['-e', 'setTimeout(() => {}, 3_000)']
      require('child_process').spawn(process.execPath, args, { ${hold} }).unref()
      require('fs').writeSync(2, 'the end')
      process.exit(1)`)
    assert.equal(text, 'the end')
  })
})
