import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { runWith } from '../../src/cli/fixtures/run.ts'
import { freePort } from '../free-port.ts'
import { type Running, start, status, until } from './running.ts'

const TOKEN = 'a-token-of-the-test-0123456789'

/**
 * Everything that the UI does can be scripted: these commands inspect the running configuration.
 */
describe('commands with --admin', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-admin-commands-'))
  const file = join(folder, 'gateway.yaml')
  let running: Running
  let admin: string
  let text: string
  const environment = { PORTCULLIS_ADMIN_TOKEN: TOKEN }

  before(async () => {
    const [port, adminPort, ready] = await Promise.all([freePort(), freePort(), freePort()])
    admin = `127.0.0.1:${adminPort}`
    text = `config:
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
- name: never
  matches: [{ path: { exact: /never } }]
  policies:
    authorization: { rules: [{ allow: "request.method == 'GET' && request.method == 'PUT'" }] }
  backends: [{ host: "127.0.0.1:1" }]
`
    writeFileSync(file, text)
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

  it('effective lists which policies guard which routes, with its own exit code', async () => {
    const said = await runWith(['effective', '--admin', admin], { environment })
    assert.equal(said.code, 0, said.err)
    assert.match(said.out, /api/)
    const strict = ['effective', '--admin', admin, '--fail-on-unprotected', '--json']
    const { code, out } = await runWith(strict, { environment })
    assert.equal(code, 1)
    assert.ok(Array.isArray(JSON.parse(out).listeners))
  })

  it('suggest uses the requests that the gateway recorded', async () => {
    const { code, out, err } = await runWith(['suggest', '--admin', admin], { environment })
    assert.equal(code, 0, err)
    assert.match(out, /request\.path\.matches\('\^\/api\/orders\/\[\^\/\]\+\$'\)/)
  })

  /** Writes a changed copy of the file. */
  const changed = (name: string, change: (text: string) => string): string => {
    const path = join(folder, name)
    writeFileSync(path, change(text))
    return path
  }
  const closed = () =>
    changed('closed.yaml', (all) => all.replace("== '/api/never'", ".startsWith('/api/orders/')"))

  /**
   * Runs a command against the gateway, and its counterpart without one, and returns both outputs.
   */
  const both = async (args: readonly string[], own: readonly string[]) => {
    const [asked, local] = await Promise.all([
      runWith([...args, '--admin', admin, '--json'], { environment }),
      runWith([...own, '--json'], { environment }),
    ])
    assert.deepEqual([asked.code, asked.err], [local.code, local.err])
    return [JSON.parse(asked.out), JSON.parse(local.out)] as const
  }

  it('lint reports the same as for the file', async () => {
    const [asked, local] = await both(['lint'], ['lint', file])
    assert.deepEqual(asked, local)
    assert.ok(asked.diagnostics.length > 0)
    const { code, out } = await runWith(['lint', '--admin', admin], { environment })
    assert.equal(code, 0, out)
    assert.match(out, /127\.0\.0\.1:\d+: .*warning/)
    const strict = await runWith(['lint', '--admin', admin, '--max-warnings=0'], { environment })
    assert.equal(strict.code, 1)
  })

  it('explain evaluates the served configuration', async () => {
    for (const options of [
      ['--request', 'GET /api/never'],
      ['--request', 'POST /api/orders/1', '--header', 'x-team: a', '--body', '{"a":1}'],
      ['--request', 'GET /other', '--claims', '{"sub":"alice"}', '--certificate', '{}'],
    ]) {
      const [asked, local] = await both(['explain', ...options], ['explain', file, ...options])
      assert.deepEqual(asked, local)
    }
    const known = await runWith(['why', '--verdict=allowed', '--json', '--admin', admin], {
      environment,
    })
    const [{ id }] = JSON.parse(known.out).decisions
    const args = ['explain', '--decision', id, '--admin', admin]
    const { code, out, err } = await runWith(args, { environment })
    assert.equal(code, 0, err)
    assert.match(out, /request\.path == '\/api\/never'/)
  })

  it('diff compares the served configuration with a file', async () => {
    const [same, none] = await both(['diff', file], ['diff', file, file])
    assert.deepEqual(same, none)
    const next = closed()
    const [asked, local] = await both(['diff', next], ['diff', file, next])
    assert.deepEqual(asked, local)
    assert.equal(asked.differences.length, 2)
    const gone = changed('gone.yaml', (all) => all.replace(/- name: open\n.*\n/, ''))
    const [without, missing] = await both(['diff', gone], ['diff', file, gone])
    assert.deepEqual(without.differences.length, missing.differences.length)
    const strict = ['diff', next, '--admin', admin, '--fail-on-change']
    assert.equal((await runWith(strict, { environment })).code, 1)
  })

  it('diff proves nothing about settings that it does not compare', async () => {
    const other = changed('other.yaml', (all) => all.replace('workers: 1', 'workers: 2'))
    const args = ['diff', other, '--admin', admin, '--fail-on-change']
    const { code, out } = await runWith(args, { environment })
    assert.equal(code, 1)
    assert.match(out, /not known .*`config` in the file/)
    assert.doesNotMatch(out, /proven/)
  })

  it('replay evaluates the recorded requests with a file', async () => {
    const next = closed()
    const args = ['replay', '--new', next, '--admin', admin, '--json']
    const { code, out, err } = await runWith(args, { environment })
    assert.equal(code, 0, err)
    const { changed: decided } = JSON.parse(out)
    assert.deepEqual(
      decided.map(({ kind, route }: Record<string, string>) => `${kind} ${route}`),
      ['refused api', 'refused api'],
    )
    const strict = ['replay', '--new', next, '--admin', admin, '--fail-on-change']
    assert.equal((await runWith(strict, { environment })).code, 1)
    const same = await runWith(['replay', '--new', file, '--admin', admin], { environment })
    assert.match(same.out, /0 newly admitted, 0 newly denied, 2 unchanged/)
  })

  it('validate reports what the gateway would report for a file', async () => {
    const [served] = await both(['validate'], ['validate', file])
    assert.equal(served.errors, 0)
    const wrong = changed('wrong.yaml', (all) => all.replace('request.path ==', 'request.paht =='))
    const { code, out } = await runWith(['validate', wrong, '--admin', admin], { environment })
    assert.equal(code, 1)
    assert.match(out, /paht/)
    const right = await runWith(['validate', closed(), '--admin', admin], { environment })
    assert.equal(right.code, 0, right.out)
  })

  it('test runs cases against the served configuration', async () => {
    const suite = join(folder, 'suite.yaml')
    writeFileSync(
      suite,
      `name: what is served
config: somewhere-else.yaml
requests:
- { path: /api/orders, expect: 200 }
- { path: /api/never, expect: 403 }
- { path: /api/never, expect: 200 }
`,
    )
    const { code, out, err } = await runWith(['test', suite, '--admin', admin], { environment })
    assert.equal(code, 1, err)
    assert.match(out, /suite\.yaml: what is served: 2 of 3 passed/)
  })

  it('reject options that would have no effect with it', async () => {
    for (const args of [
      ['lint', file],
      ['lint', '--fix'],
      ['lint', '-f', file],
      ['diff', file, file],
      ['replay', '--new', file, '--old', file],
      ['validate', '--profile', 'agentgateway'],
      ['explain', '--decisions', file, '--decision', 'x'],
    ]) {
      const { code } = await runWith([...args, '--admin', admin], { environment })
      assert.equal(code, 2, args.join(' '))
    }
  })

  it('report the reason if the gateway does not accept them', async () => {
    for (const args of [
      ['effective'],
      ['suggest'],
      ['lint'],
      ['explain'],
      ['validate'],
      ['diff', file],
      ['replay', '--new', file],
    ]) {
      const [command] = args
      const wrong = { environment: { PORTCULLIS_ADMIN_TOKEN: 'another-token-0123456789' } }
      const { code, err } = await runWith([...args, '--admin', admin], wrong)
      assert.equal(code, 1)
      assert.match(err, new RegExp(`^portcullis ${command}: .*token`), err)
    }
    const away = await runWith(['suggest', '--admin', '127.0.0.1:1'], { environment })
    assert.match(away.err, /cannot reach/)
  })
})
