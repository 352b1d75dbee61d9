import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { freePort } from '../free-port.ts'
import { type Running, start, status, until } from './running.ts'

const TOKEN = 'a-token-of-the-test-0123456789'

/** What the UI does can be scripted: these commands look at what runs. */
describe('commands with --admin', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-admin-commands-'))
  let running: Running
  let admin: string
  const environment = { PORTCULLIS_ADMIN_TOKEN: TOKEN }

  before(async () => {
    const [port, adminPort, ready] = await Promise.all([freePort(), freePort(), freePort()])
    admin = `127.0.0.1:${adminPort}`
    const file = join(folder, 'gateway.yaml')
    writeFileSync(
      file,
      `config:
  workers: 1
  adminAddr: ${admin}
  statsAddr: off
  readinessAddr: 127.0.0.1:${ready}
  decisions: { allowed: 1, show: [request] }
gateways:
  default: { port: ${port} }
routes:
- name: api
  matches: [{ path: { pathPrefix: /api } }]
  policies:
    authorization: { rules: [{ deny: "request.path == '/api/never'" }] }
    directResponse: { status: 200 }
- name: open
  backends: [{ host: "127.0.0.1:1" }]
`,
    )
    process.env['PORTCULLIS_ADMIN_TOKEN'] = TOKEN
    running = start('run', '-f', file)
    delete process.env['PORTCULLIS_ADMIN_TOKEN']
    await until('it is ready', async () => (await status(ready, '/readyz')) === 200)
    assert.equal(await status(port, '/api/orders/1'), 200)
    assert.equal(await status(port, '/api/orders/2'), 200)
  })

  after(async () => {
    running?.child.kill('SIGKILL')
    await running?.exit
    rmSync(folder, { recursive: true, force: true })
  })

  it('effective lists what guards what, with its own exit code', async () => {
    const said = await runWith(['effective', '--admin', admin], { environment })
    assert.equal(said.code, 0, said.err)
    assert.match(said.out, /api/)
    const strict = ['effective', '--admin', admin, '--fail-on-unprotected', '--json']
    const { code, out } = await runWith(strict, { environment })
    assert.equal(code, 1)
    assert.ok(Array.isArray(JSON.parse(out).listeners))
  })

  it('suggest uses the requests that the gateway remembers', async () => {
    const { code, out, err } = await runWith(['suggest', '--admin', admin], { environment })
    assert.equal(code, 0, err)
    assert.match(out, /request\.path\.matches\('\^\/api\/orders\/\[\^\/\]\+\$'\)/)
  })

  it('say why, if the gateway does not accept them', async () => {
    for (const command of ['effective', 'suggest']) {
      const wrong = { environment: { PORTCULLIS_ADMIN_TOKEN: 'another-token-0123456789' } }
      const { code, err } = await runWith([command, '--admin', admin], wrong)
      assert.equal(code, 1)
      assert.match(err, new RegExp(`^portcullis ${command}: .*token`), err)
    }
    const away = await runWith(['suggest', '--admin', '127.0.0.1:1'], { environment })
    assert.match(away.err, /cannot be reached/)
  })
})
