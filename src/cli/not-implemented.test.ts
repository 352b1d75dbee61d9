import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'

const ENTRY = join(import.meta.dirname, '../../bin/portcullis.ts')
const folder = mkdtempSync(join(tmpdir(), 'portcullis-not-implemented-'))
after(() => rmSync(folder, { recursive: true }))

const KEY = 'ab'.repeat(32)
const OFF = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workers: 1 }

/** Ends by itself only where the start is refused. */
function call(command: string, config: object, environment: Readonly<Record<string, string>> = {}) {
  const file = join(folder, 'config.json')
  writeFileSync(file, JSON.stringify({ gateways: {}, config: { ...OFF, ...config } }))
  const { PATH = '' } = process.env
  return spawnSync(process.execPath, [ENTRY, command, '--file', file], {
    encoding: 'utf8',
    env: { PATH, ...environment },
    timeout: 300_000,
  })
}

describe('what no part of the gateway does yet', () => {
  for (const command of ['run', 'validate']) {
    for (const [what, config, environment, message] of [
      ['OIDC', {}, { OIDC_COOKIE_SECRET: KEY }, /OIDC_COOKIE_SECRET/],
    ] as const) {
      it(`${command}: ${what} is refused, in one sentence`, () => {
        const { status, stdout, stderr } = call(command, config, environment)
        const said = `${stdout}${stderr}`
        assert.equal(status, 1, said)
        assert.match(said, message)
        assert.equal(said.match(/\[PC0224\]/g)?.length, 1, said)
        assert.equal(said.match(/^error/gm)?.length, 1, said)
        assert.ok(!said.includes(KEY), 'no secret is shown')
      })
    }
  }

  it('readonly mode and an empty variable are fine, and so is a session key', () => {
    const { status, stdout } = call(
      'validate',
      { storage: { mode: 'readonly' }, session: { key: KEY } },
      { OIDC_COOKIE_SECRET: '' },
    )
    assert.equal(status, 0, stdout)
  })
})
