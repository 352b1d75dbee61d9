import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { freePort, start, status, until } from './running.ts'

const folder = mkdtempSync(join(tmpdir(), 'portcullis-level-'))
after(() => rmSync(folder, { recursive: true }))

it('portcullis log-level reaches every worker', async () => {
  const [port, admin] = [await freePort(), await freePort()]
  const file = join(folder, 'gateway.yaml')
  writeFileSync(
    file,
    `config: { workers: 2, adminAddr: '127.0.0.1:${admin}', statsAddr: off, readinessAddr: off }
gateways: { default: { port: ${port} } }
routes: [{ name: a, policies: { directResponse: { status: 200 } } }]
`,
  )
  const { child, out, exit } = start('run', '-f', file)
  try {
    await until('it serves', async () => (await status(port, '/first')) === 200)
    await until('its admin API', async () => (await status(admin, '/api/health')) === 200)
    await until('its access log', () => out().includes('/first'))
    const url = `127.0.0.1:${admin}`
    const run = (...args: readonly string[]) => runWith(['log-level', ...args, '--admin', url])
    const set = async (level: string) =>
      assert.deepEqual(await run(level), { code: 0, out: `${level}\n`, err: '' })
    assert.deepEqual(await run(), { code: 0, out: 'info\n', err: '' })
    assert.deepEqual(JSON.parse((await run('--json')).out), { level: 'info' })
    await set('error')
    await until('the audit trail', () => /audit.*before=info.*after=error/.test(out()))
    // The audit trail does not depend on the log level: it records turning logs off, and later
    // changes.
    await set('off')
    await until('the audit trail', () => /audit.*before=error.*after=off/.test(out()))
    await set('error')
    await until('the audit trail', () => /audit.*before=off.*after=error/.test(out()))
    // Messages to a worker keep their order: a later request finds the level set.
    await fetch(`http://127.0.0.1:${admin}/api/decisions`).then((one) => one.text())
    const before = out().length
    for (let n = 0; n < 20; n++) {
      await fetch(`http://127.0.0.1:${port}/later`, { headers: { connection: 'close' } })
    }
    child.kill('SIGTERM')
    await exit
    assert.doesNotMatch(out().slice(before), /\/later/)
  } finally {
    child.kill('SIGKILL')
    await exit
  }
})

describe('portcullis log-level', () => {
  for (const [what, args, code, said] of [
    ['an unknown level', ['verbose'], 2, /unknown level `verbose`; available: error, warn, info/],
    ['two levels', ['info', 'debug'], 2, /unexpected argument `debug`/],
    ['an unknown option', ['--level', 'info'], 2, /unknown option `--level`/],
    ['no gateway', ['debug', '--admin', '127.0.0.1:1'], 1, /cannot reach the admin API at /],
  ] as const) {
    it(`says what is wrong: ${what}`, async () => {
      const reply = await runWith(['log-level', ...args])
      assert.equal(reply.code, code)
      assert.match(reply.err, said)
      assert.equal(reply.out, '')
    })
  }

  it('needs the token if one is configured', async () => {
    const [port, admin] = [await freePort(), await freePort()]
    const file = join(folder, 'guarded.yaml')
    writeFileSync(
      file,
      `config: { workers: 1, adminAddr: '127.0.0.1:${admin}', statsAddr: off, readinessAddr: off }
gateways: { default: { port: ${port} } }
routes: [{ name: a, policies: { directResponse: { status: 200 } } }]
`,
    )
    const token = 'a-token-of-the-level-0123456789'
    process.env['PORTCULLIS_ADMIN_TOKEN'] = token
    const { child, exit } = start('run', '-f', file)
    delete process.env['PORTCULLIS_ADMIN_TOKEN']
    try {
      await until('its admin API', async () => (await status(admin, '/api/health')) === 401)
      const args = ['log-level', 'debug', '--admin', `http://127.0.0.1:${admin}`]
      const rejected = await runWith(args)
      assert.equal(rejected.code, 1)
      assert.match(rejected.err, /^portcullis log-level: send the token /)
      const environment = { PORTCULLIS_ADMIN_TOKEN: token }
      const done = await runWith(args, { environment })
      assert.deepEqual(done, { code: 0, out: 'debug\n', err: '' })
    } finally {
      child.kill('SIGKILL')
      await exit
    }
  })
})
