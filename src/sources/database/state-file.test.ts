import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { StateFile } from './state-file.ts'

test('a second write in quick succession reaches the disk well within a second', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-state-'))
  const failures: string[] = []
  const file = new StateFile(join(folder, 'state.json'), (error) => failures.push(error))
  const store = (revision: number) => file.write(() => ({ revision, mark: '', rows: [] }))
  try {
    // The minimum of several runs: write time depends on the disk.
    let least = Number.POSITIVE_INFINITY
    for (let revision = 1; revision <= 6; revision++) {
      store(revision)
      const began = performance.now()
      while (file.read()?.revision !== revision) await wait(5)
      if (revision > 1) least = Math.min(least, performance.now() - began)
    }
    assert.ok(least < 900, `it took ${least.toFixed(0)} ms`)
    assert.deepEqual(failures, [])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
