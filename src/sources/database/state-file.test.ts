import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { StateFile } from './state-file.ts'

test('what is stored right after the one before is on disk well before a second is over', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-state-'))
  const failures: string[] = []
  const file = new StateFile(join(folder, 'state.json'), (error) => failures.push(error))
  const store = (revision: number) => file.write(() => ({ revision, mark: '', rows: [] }))
  try {
    store(1)
    while (file.read() === undefined) await wait(1)
    store(2)
    const began = performance.now()
    while (file.read()?.revision !== 2 && performance.now() - began < 3_000) await wait(5)
    const taken = performance.now() - began
    assert.ok(taken < 600, `it took ${taken.toFixed(0)} ms`)
    assert.deepEqual(failures, [])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
