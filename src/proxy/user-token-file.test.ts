import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import type { StoredToken } from '../exchange/user-token-store.ts'
import { LimitedDisk } from './fixtures/limited-disk.ts'
import { UserTokenFile } from './user-token-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-tokens-'))
let files = 0
const fresh = () => join(folder, `tokens-${++files}`)
const keyOf = (name: string) => name.padEnd(43, name)
const ANN = keyOf('a')
const BEN = keyOf('b')
const token = (version: string): StoredToken => ({ version, sealed: `sealed-${version}` })

describe('the file of user tokens', () => {
  after(() => rmSync(folder, { recursive: true }))

  it('has after a restart what every operation before it left', async () => {
    const step = fc.record({
      kind: fc.constantFrom('write', 'replace', 'remove', 'remove-version', 'restart'),
      key: fc.constantFrom(ANN, BEN),
      version: fc.constantFrom('v1', 'v2', 'v3'),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const path = fresh()
        let file = new UserTokenFile(path)
        const expected = new Map<string, StoredToken>()
        for (const { kind, key, version } of steps) {
          const before = expected.get(key)
          const next = token(`${version}-next`)
          if (kind === 'write') {
            await file.write(key, token(version))
            expected.set(key, token(version))
          } else if (kind === 'replace') {
            const isCurrent = before?.version === version
            assert.equal(await file.replace(key, version, next), isCurrent)
            if (isCurrent) expected.set(key, next)
          } else if (kind === 'restart') {
            // Nothing is closed, as when the process is killed.
            file = new UserTokenFile(path)
          } else {
            const isAny = kind === 'remove'
            await file.remove(key, isAny ? undefined : version)
            if (isAny || before?.version === version) expected.delete(key)
          }
          for (const own of [ANN, BEN]) assert.deepEqual(await file.read(own), expected.get(own))
        }
        const restored = new UserTokenFile(path)
        for (const own of [ANN, BEN]) assert.deepEqual(await restored.read(own), expected.get(own))
        const lines = readFileSync(path, 'utf8').split('\n').length - 1
        assert.equal(lines, expected.size, 'the history ends with the process')
      }),
      { numRuns: 60 },
    )
  })

  it('rewrites its history before it grows without bound', async () => {
    const path = fresh()
    const file = new UserTokenFile(path)
    await file.write(BEN, token('kept'))
    let max = 0
    for (let i = 0; i < 1_100; i++) {
      await file.write(ANN, token(`v${i}`))
      max = Math.max(max, statSync(path).size)
    }
    assert.ok(statSync(path).size < max / 2, String(max))
    const restored = new UserTokenFile(path)
    assert.deepEqual(await restored.read(ANN), token('v1099'))
    assert.deepEqual(await restored.read(BEN), token('kept'))
  })

  it('ignores a last line that was not written completely', async () => {
    const path = fresh()
    const file = new UserTokenFile(path)
    await file.write(ANN, token('v1'))
    const text = readFileSync(path, 'utf8')
    for (let length = 0; length < text.length; length++) {
      writeFileSync(path, text + text.replace('v1', 'v2').slice(0, length))
      assert.deepEqual(await new UserTokenFile(path).read(ANN), token('v1'))
    }
  })

  it('does not overwrite a foreign file', () => {
    for (const text of ['root:x:0:0\n', '\n', `${'a'.repeat(42)} v s\n`, `${ANN} v\n`]) {
      const path = fresh()
      writeFileSync(path, text)
      assert.throws(() => new UserTokenFile(path), /line 1 of .* is not a user token record/)
      assert.equal(readFileSync(path, 'utf8'), text)
    }
    assert.throws(() => new UserTokenFile(folder), /EISDIR/)
  })

  it('can be read and written by its owner only', async () => {
    const path = fresh()
    await new UserTokenFile(path).write(ANN, token('v1'))
    assert.equal(statSync(path).mode & 0o777, 0o600)
  })

  for (const room of [0, 1, 50]) {
    it(`stores whole lines or none on a disk that has ${room} bytes left`, async (context) => {
      const path = fresh()
      const file = new UserTokenFile(path)
      await file.write(ANN, token('v1'))
      const disk = new LimitedDisk(room)
      context.after(() => disk.restore())
      await assert.rejects(file.write(BEN, token('v1')), /ENOSPC/)
      assert.equal(await file.read(BEN), undefined)
      disk.room = 1_000
      await file.write(BEN, token('v2'))
      const restored = new UserTokenFile(path)
      assert.deepEqual(await restored.read(ANN), token('v1'))
      assert.deepEqual(await restored.read(BEN), token('v2'))
    })
  }
})
