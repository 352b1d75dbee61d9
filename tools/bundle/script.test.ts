import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { compileBundle, FOOT, HEAD, runBundle, writeCode } from './script.ts'

describe('the script of a release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-bundle-'))
  const file = join(folder, 'program.cjs')
  const code = join(folder, 'program.code')
  after(() => rmSync(folder, { recursive: true }))

  const write = (word: string) =>
    writeFileSync(
      file,
      `#!/usr/bin/env node\n${HEAD}\nrequire('node:process').title = '${word}'\n${FOOT}\n`,
    )

  /** Runs the script; returns its output, and whether the cached code was used. */
  function run() {
    const { title } = process
    const bundle = compileBundle(file)
    runBundle(bundle)
    const said = process.title
    process.title = title
    return { said, isUsed: bundle.script.cachedDataRejected === false }
  }

  it('runs without code', () => {
    write('one')
    assert.deepEqual(run(), { said: 'one', isUsed: false })
  })

  it('runs with the code that was compiled from it', () => {
    const bundle = compileBundle(file)
    runBundle(bundle)
    writeCode(bundle)
    assert.deepEqual(run(), { said: 'one', isUsed: true })
  })

  it('rejects code of another text, even of the same length', () => {
    write('two')
    assert.deepEqual(run(), { said: 'two', isUsed: false })
    write('one')
    assert.equal(run().isUsed, true)
  })

  it('rejects code from another platform or version', () => {
    const { platform } = process
    assert.equal(run().isUsed, true)
    Object.defineProperty(process, 'platform', { value: 'plan9' })
    try {
      assert.equal(run().isUsed, false)
    } finally {
      Object.defineProperty(process, 'platform', { value: platform })
    }
  })

  it('rejects code that was changed or truncated', () => {
    const bytes = readFileSync(code)
    const changed = Buffer.from(bytes)
    changed[changed.length - 9] = 1 + (changed.at(-9) ?? 0)
    for (const wrong of [changed, bytes.subarray(0, 40), bytes.subarray(0, 7)]) {
      writeFileSync(code, wrong)
      assert.deepEqual(run(), { said: 'one', isUsed: false })
    }
  })
})
