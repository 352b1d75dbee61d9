import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from './fixtures/run.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-cookie-secret-'))
after(() => rmSync(folder, { recursive: true }))

const GOOD = '0123456789abcdef'.repeat(4)
const OFF = { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', workers: 1 }
const OIDC = {
  issuer: 'https://login.example.com',
  clientId: 'portcullis',
  redirectUri: 'https://admin.example.com/api/auth/callback',
}

/** Ends by itself only if startup is rejected. */
async function call(
  command: string,
  adminAuth: object | undefined,
  environment: Readonly<Record<string, string>> = {},
) {
  const file = join(folder, 'config.json')
  writeFileSync(file, JSON.stringify({ gateways: {}, config: { ...OFF, adminAuth } }))
  const { code, out, err } = await runWith([command, '-f', file], { environment })
  return { status: code, said: `${out}${err}` }
}

describe('the cookie secret', { timeout: 60_000 }, () => {
  for (const [what, secret, message] of [
    ['missing', '', /requires the environment variable `OIDC_COOKIE_SECRET`/],
    ['short', 'abc123', /must be a random key of 64 hexadecimal digits/],
    ['typed', 'ab'.repeat(32), /must be a random key of 64 hexadecimal digits/],
  ] as const) {
    it(`keeps the gateway from starting if it is ${what}`, async () => {
      const { status, said } = await call('run', { oidc: OIDC }, { OIDC_COOKIE_SECRET: secret })
      assert.equal(status, 1, said)
      assert.match(said, message)
      assert.equal(said.match(/\[PC0407\]/g)?.length, 1, said)
      assert.ok(secret === '' || !said.includes(secret), 'no secret is shown')
    })
  }

  for (const [what, adminAuth, words] of [
    ['an issuer without TLS', { oidc: { ...OIDC, issuer: 'http://login.example.com' } }, /https/],
    ['another path', { oidc: { ...OIDC, redirectUri: 'https://a.example/b' } }, /callback/],
    ['a role by the request', { oidc: OIDC, roles: { admin: 'request.path == "/"' } }, /request/],
  ] as const) {
    it(`${what} is an error at the start`, async () => {
      const { status, said } = await call('run', adminAuth, { OIDC_COOKIE_SECRET: GOOD })
      assert.equal(status, 1, said)
      assert.match(said, words)
    })
  }
})
