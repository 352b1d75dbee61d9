import assert from 'node:assert/strict'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { openLog } from './open-log.ts'

describe('the process log', () => {
  it('reports how many records were dropped', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'open-log-'))
    const path = join(folder, 'log')
    const fd = openSync(path, 'a')
    const { log, sink } = openLog({ format: 'text', level: 'info', fd, capacity: 500 })
    for (let i = 0; i < 100; i++) log.info('request', { i })
    await new Promise<void>((resolve) => sink.flush(resolve))
    sink.close()
    closeSync(fd)
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    rmSync(folder, { recursive: true })
    const written = lines.length - 1
    const last = lines.at(-1) ?? ''
    assert.ok(written > 5 && written < 15)
    assert.equal(
      last.slice(last.indexOf('\t')),
      `\twarn\tlog error="the reader of the log is too slow" dropped=${100 - written}`,
    )
  })
})
