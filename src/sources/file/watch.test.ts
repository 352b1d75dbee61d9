import assert from 'node:assert/strict'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { stampOf } from './file-version.ts'
import { FileWatch } from './watch.ts'

describe('watching files', () => {
  let folder: string
  let main: string
  let watch: FileWatch
  let changes: number

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
    main = join(folder, 'gateway.yaml')
    writeFileSync(main, 'first')
    changes = 0
    watch = new FileWatch(() => changes++)
  })

  afterEach(() => {
    watch.close()
    rmSync(folder, { recursive: true })
  })

  async function isReported(before = 0, turns = 10_000): Promise<boolean> {
    for (let i = 0; i < turns && changes === before; i++) await wait(5)
    return changes > before
  }

  const followed = (path: string) => ({ path, stamp: stampOf(path) })

  it('reports a change once', async () => {
    watch.follow([followed(main)])
    writeFileSync(main, 'second')
    assert.ok(await isReported())
    await wait(60)
    assert.equal(changes, 1)
  })

  it('reports a change that keeps size and time', async () => {
    utimesSync(main, 1, 1)
    watch.follow([followed(main)])
    writeFileSync(main, 'again')
    utimesSync(main, 1, 1)
    assert.equal(statSync(main).mtimeMs, 1_000)
    assert.ok(await isReported())
  })

  it('reports a file that becomes readable', async () => {
    chmodSync(main, 0)
    watch.follow([followed(main)])
    chmodSync(main, 0o600)
    assert.ok(await isReported())
  })

  it('reports a change that happens while the file is read', async () => {
    watch.follow([followed(main)])
    writeFileSync(main, 'second')
    assert.ok(await isReported())
    // The next read may return the second or the third version.
    writeFileSync(main, 'third')
    watch.follow([followed(main)])
    assert.ok(await isReported(1))
  })

  it('reports a change between reading and watching', async () => {
    const read = followed(main)
    writeFileSync(main, 'second')
    watch.follow([read])
    assert.ok(await isReported())
  })

  it('reports a newly watched file that changed since it was read', async () => {
    watch.follow([followed(main)])
    const named = followed(join(folder, 'key.pem'))
    writeFileSync(named.path, 'a key')
    watch.follow([followed(main), named])
    assert.ok(await isReported())
  })

  it('does not report a newly watched file that is unchanged', async () => {
    const named = join(folder, 'key.pem')
    writeFileSync(named, 'a key')
    watch.follow([followed(main)])
    watch.follow([followed(main), followed(named)])
    assert.equal(await isReported(0, 50), false)
  })

  it('does not report a file that is no longer watched', async () => {
    const named = join(folder, 'key.pem')
    writeFileSync(named, 'a key')
    watch.follow([followed(main), followed(named)])
    watch.follow([followed(main)])
    writeFileSync(named, 'another')
    assert.equal(await isReported(0, 50), false)
  })

  it('continues after the folder is removed and recreated, and reports changes at once', async () => {
    watch.close()
    watch = new FileWatch(() => changes++, 100)
    watch.follow([followed(main)])
    rmSync(folder, { recursive: true })
    assert.ok(await isReported())
    mkdirSync(folder)
    writeFileSync(main, 'second')
    // Waits for the next poll of a file that emits no events.
    for (let i = 0; i < 1_000 && changes < 2; i++) await wait(5)
    assert.equal(changes, 2)
    writeFileSync(main, 'third')
    assert.ok(await isReported(2))
  })
})
