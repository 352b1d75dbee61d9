import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const PROGRAM = join(import.meta.dirname, '../../bin/portcullis.ts')

describe('what a command prints', () => {
  it('and nobody reads to the end is no error', () => {
    const command = `"${process.execPath}" "${PROGRAM}" schema | head -c 10; echo "\${PIPESTATUS[0]}"`
    const { stdout, stderr } = spawnSync('bash', ['-c', command], { encoding: 'utf8' })
    assert.match(stdout, /0\n$/)
    assert.equal(stderr, '')
  })

  it('and cannot be written is said in a sentence', { skip: !existsSync('/dev/full') }, () => {
    const full = openSync('/dev/full', 'w')
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, 'help'], {
      encoding: 'utf8',
      stdio: ['ignore', full, 'pipe'],
    })
    assert.equal(status, 1)
    assert.equal(stderr, 'portcullis: cannot write the output: no space left on device\n')
  })
})
