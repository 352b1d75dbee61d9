import assert from 'node:assert/strict'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import type { StoredModel } from '../../xds/replica.ts'
import { StateFile } from './state-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-state-'))
after(() => rmSync(folder, { recursive: true }))
let files = 0
const freshPath = () => join(folder, `state-${files++}.json`)

const partOf = (name: string, text: string) => ({
  name,
  version: `v-${text.length}-${text}`.slice(0, 40),
  bytes: Buffer.from(text),
})
const modelOf = (version: string, parts: Readonly<Record<string, string>>): StoredModel => ({
  version,
  parts: Object.entries(parts).map(([name, text]) => partOf(name, text)),
})

/** The contents that another process reads, sorted independently of the file. */
async function storedAt(path: string) {
  const problems: string[] = []
  const found = await new StateFile(path, ({ message }) => problems.push(message)).read()
  const parts = found?.parts.map(({ name, version, bytes }) => [
    name,
    version,
    Buffer.from(bytes).toString(),
  ])
  return { version: found?.version, parts: parts?.sort(), problems }
}
const expected = ({ version, parts }: StoredModel) => ({
  version,
  parts: parts.map((one) => [one.name, one.version, one.bytes.toString()]).sort(),
  problems: [],
})
const fail = (problem: { readonly message: string }) => assert.fail(problem.message)

describe('StateFile', () => {
  it('restores the last configuration, whatever was stored before', async () => {
    const names = fc.constantFrom('routes/a', 'routes/b', 'backends/a', 'secrets/x', 'secrets/y')
    const parts = fc.dictionary(names, fc.string({ maxLength: 50 }))
    await fc.assert(
      fc.asyncProperty(fc.array(parts, { minLength: 1, maxLength: 12 }), async (all) => {
        const path = freshPath()
        const file = new StateFile(path, fail)
        for (const [index, one] of all.entries()) {
          const model = modelOf(`version ${index}`, one)
          await file.write(model)
          assert.deepEqual(await storedAt(path), expected(model))
        }
      }),
      { numRuns: 30 },
    )
  })

  it('an edit writes only what it changes, and the file does not grow without bound', async () => {
    const path = freshPath()
    const file = new StateFile(path, fail)
    const parts = Object.fromEntries(
      Array.from({ length: 1000 }, (_, n) => [`routes/r${n}`, 'x'.repeat(300)]),
    )
    await file.write(modelOf('first', parts))
    const { size, ino } = statSync(path)
    let [rewrites, largest, last] = [0, 0, ino]
    for (let n = 0; n < 600; n++) {
      const edited = { ...parts, 'routes/r7': `edit ${n}`.padEnd(1000, 'y') }
      await file.write(modelOf(`edit ${n}`, edited))
      const now = statSync(path)
      if (now.ino !== last) rewrites++
      last = now.ino
      largest = Math.max(largest, now.size)
    }
    assert.ok(rewrites >= 1 && rewrites <= 5, `${rewrites} times written anew`)
    assert.ok(largest <= 2 * size + 3000, `${largest} bytes in place of ${size}`)
    assert.equal((await storedAt(path)).version, 'edit 599')
  })

  it('no removed or changed secret remains in the file', async () => {
    const path = freshPath()
    const file = new StateFile(path, fail)
    const has = (text: string) =>
      readFileSync(path, 'utf8').includes(Buffer.from(text).toString('base64'))
    await file.write(modelOf('1', { 'routes/a': 'a', 'secrets/x': 'first secret' }))
    await file.write(modelOf('2', { 'routes/a': 'b', 'secrets/x': 'other secret' }))
    assert.deepEqual([has('first secret'), has('other secret')], [false, true])
    await file.write(modelOf('3', { 'routes/a': 'b' }))
    assert.equal(has('other secret'), false)
    assert.equal(statSync(path).mode & 0o777, 0o600)
  })

  it('truncated anywhere, restores the previous configuration, or none with a warning', async () => {
    const path = freshPath()
    const file = new StateFile(path, fail)
    const first = modelOf('first', { 'routes/a': 'a', 'routes/b': 'b' })
    await file.write(first)
    const complete = statSync(path).size
    await file.write(modelOf('second', { 'routes/a': 'changed' }))
    const text = readFileSync(path, 'utf8')
    for (let size = text.length - 1; size >= 0; size--) {
      truncateSync(path, size)
      const found = await storedAt(path)
      if (size >= complete) assert.deepEqual(found, expected(first))
      else assert.deepEqual([found.version, found.problems.length], [undefined, 1])
    }
  })

  it('is rewritten if another process wrote to it', async () => {
    const path = freshPath()
    const file = new StateFile(path, fail)
    await file.write(modelOf('1', { 'routes/a': 'a' }))
    appendFileSync(path, 'garbage')
    const model = modelOf('2', { 'routes/a': 'b' })
    await file.write(model)
    assert.deepEqual(await storedAt(path), expected(model))
    rmSync(path)
    const next = modelOf('3', { 'routes/a': 'c' })
    await file.write(next)
    assert.deepEqual(await storedAt(path), expected(next))
  })
})
