import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { verifyChain } from '../../src/telemetry/decision-chain-check.ts'
import { freePort } from '../decisions/gateway.ts'
import { PORTCULLIS } from '../programs.ts'
import { start as follow, until } from './running.ts'

interface CommandResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

function portcullis(...args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(process.execPath, [PORTCULLIS, ...args], { timeout: 60_000 }, (error, out, err) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err })
    })
  })
}

describe('decisions of a running gateway', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const file = join(folder, 'gateway.yaml')
  let backend: Server
  let admin = ''
  let http = 0
  let ready = 0
  let child: ChildProcess

  const files = () =>
    readdirSync(folder)
      .filter((name) => name.startsWith('decisions.jsonl'))
      .map((name) => join(folder, name))

  async function start(): Promise<void> {
    child = spawn(process.execPath, [PORTCULLIS, 'run', '-f', file], { stdio: 'ignore' })
    // A busy machine needs more time.
    for (let i = 0; i < 2_400; i++) {
      const response = await fetch(`http://127.0.0.1:${ready}/healthz/ready`).catch(() => undefined)
      if (response?.status === 200) return
      await wait(25)
    }
    assert.fail('it never was ready')
  }

  async function stop(): Promise<void> {
    const exit = new Promise((resolve) => child.on('exit', resolve))
    child.kill('SIGTERM')
    assert.equal(await exit, 0)
  }

  async function denied(path = '/x'): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${http}${path}`, {
      headers: { 'x-team': 'dev', connection: 'close' },
    })
    await response.text()
    assert.equal(response.status, 403)
    return response.headers.get('x-request-id') as string
  }

  before(async () => {
    backend = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
    await new Promise((resolve) => backend.on('listening', resolve))
    const [a, b, c, d] = await Promise.all([1, 2, 3, 4].map(freePort))
    admin = `http://127.0.0.1:${a}`
    http = c as number
    ready = d as number
    writeFileSync(
      file,
      `config:
  workers: 2
  adminAddr: 127.0.0.1:${a}
  statsAddr: 127.0.0.1:${b}
  readinessAddr: 127.0.0.1:${d}
  decisions:
    show: ["request.headers['x-team']"]
    file: { path: decisions.jsonl, maxSize: 20000, maxFiles: 50 }
gateways:
  default: { port: ${http} }
routes:
- name: orders
  gateways: [default]
  policies:
    authorization:
      rules:
      - allow: request.headers['x-team'] == 'eng'
  backends: [{ host: '127.0.0.1:${(backend.address() as AddressInfo).port}' }]
`,
    )
    await start()
  })

  after(() => {
    child.kill('SIGKILL')
    backend.close()
    backend.closeAllConnections()
    rmSync(folder, { recursive: true })
  })

  it('are collected from all workers, found by id, and filtered', async () => {
    const ids = []
    for (let i = 0; i < 40; i++) ids.push(await denied())
    const all = (await (await fetch(`${admin}/api/decisions?limit=1000`)).json()) as {
      decisions: readonly { readonly id: string; readonly time: string }[]
    }
    assert.deepEqual(all.decisions.map(({ id }) => id).sort(), ids.sort())
    const times = all.decisions.map(({ time }) => time)
    assert.deepEqual(times, times.toSorted().reverse())
    for (const [query, count] of [
      ['verdict=denied', 40],
      ['verdict=would-deny', 0],
      ['policy=route%3Aorders', 40],
      ['policy=other', 0],
      [`since=${encodeURIComponent(new Date(Date.now() + 60_000).toISOString())}`, 0],
      ['limit=3', 3],
    ] as const) {
      const response = await fetch(`${admin}/api/decisions?${query}`)
      const { decisions } = (await response.json()) as { decisions: readonly unknown[] }
      assert.equal(decisions.length, count, query)
    }
    for (const [path, status] of [
      [`/api/decisions/${ids[0]}`, 200],
      ['/api/decisions/no-such-id', 404],
      ['/api/decisions/%ff', 404],
      ['/api/decisions?verdict=maybe', 400],
      ['/api/decisions?since=yesterday', 400],
      ['/api/decisions?limit=0', 400],
      ['/api/decisions?color=red', 400],
    ] as const) {
      assert.equal((await fetch(`${admin}${path}`)).status, status, path)
    }
  })

  it('are shown by `portcullis why`', async () => {
    const id = await denied('/orders/7')
    const { code, out } = await portcullis('why', id, '--admin', admin)
    assert.equal(code, 0)
    for (const part of [
      /^denied {2}GET 127\.0\.0\.1\/orders\/7 {2}403\n/,
      /because {3}no Allow rule matched\n/,
      /authorization\[0\] of route:orders/,
      /✗ request\.headers\['x-team'\] == 'eng' is false \(must be true\)\n/,
      /request\.headers\['x-team'\] {2}"dev"/,
    ]) {
      assert.match(out, part)
    }
    const json = await portcullis('why', id, '--admin', admin, '--json')
    assert.equal(JSON.parse(json.out).decisions[0].id, id)
    const list = await portcullis('why', '--admin', admin, '--limit', '1')
    assert.match(list.out, new RegExp(`denied {6}${id} {2}GET`))
    assert.equal((await portcullis('why', 'no-such-id', '--admin', admin)).code, 1)
    const none = await portcullis('why', '--admin', admin, '--policy', 'no-such-policy')
    assert.deepEqual([none.code, none.out], [0, 'No matching decisions.\n'])
    const plain = await portcullis('why', id, '--admin', admin.replace('http://', ''))
    assert.equal(plain.code, 0, plain.err)
    const odd = await portcullis('why', id, '--admin', 'a b')
    assert.match(odd.err, /a b is neither a URL nor a host:port address/)
    const nobody = await portcullis('why', id, '--admin', `http://127.0.0.1:${await freePort()}`)
    assert.equal(nobody.code, 1)
    assert.match(nobody.err, /cannot reach .*: connection refused/)
  })

  it('are intact, and not closed, while the gateway runs', async () => {
    await denied()
    await wait(200)
    const { code, out } = await portcullis('audit', 'verify', ...files())
    assert.equal(code, 3, out)
    assert.match(out, /^intact up to \S+decisions\.jsonl:\d+; the log was not closed: /m)
    assert.doesNotMatch(out, /whole/)
    assert.equal((await portcullis('audit', 'head', ...files())).code, 0)
    const config = await portcullis('audit', 'verify', file)
    assert.equal(config.code, 1)
    assert.doesNotMatch(config.out, /whole/)
    assert.equal((await portcullis('audit', 'verify', folder)).code, 1)
  })

  it('are explained against a configuration', async () => {
    const id = await denied()
    const reported = await portcullis('explain', '-f', file, '--decision', id, '--admin', admin)
    assert.equal(reported.code, 1)
    assert.match(
      reported.out,
      /✗ request\.headers\['x-team'\] == 'eng' {2}request\.headers\['x-team'\] = 'dev'/,
    )
  })

  it('form one chain in the file of all workers, also after a restart', async () => {
    await stop()
    const first = await verifyChain(files())
    assert.deepEqual([first.faults, first.decisions], [[], 43])
    await start()
    for (let i = 0; i < 20; i++) await denied()
    await stop()
    const second = await portcullis('audit', 'verify', ...files(), '--head', first.head as string)
    assert.equal(second.code, 0, second.out)
    assert.match(second.out, /the chain is intact: \d+ lines, 63 decisions\n/)
    assert.ok(files().length > 1)
    const head = await portcullis('audit', 'head', ...files())
    const path = files().find((own) => readFileSync(own, 'utf8').includes('"dev"'))
    writeFileSync(path as string, readFileSync(path as string, 'utf8').replace('"dev"', '"eng"'))
    const broken = await portcullis('audit', 'verify', ...files(), '--head', head.out.trim())
    assert.equal(broken.code, 1)
    assert.match(broken.out, /^edited .*decisions\.jsonl\S*:\d+: this line was changed/)
    assert.equal((await portcullis('audit', 'head', ...files())).code, 1)
  })

  it('prevent the start of a gateway whose file cannot be used', async () => {
    const other = join(folder, 'other.yaml')
    writeFileSync(
      other,
      readFileSync(file, 'utf8').replace('path: decisions', 'path: no/such/decisions'),
    )
    const { code, err } = await portcullis('run', '-f', other)
    assert.equal(code, 1)
    assert.match(err, /PC0403.*cannot use the decision file/)
  })

  it('are followed as they are made, each once, from all workers', async () => {
    await start()
    await denied()
    const following = follow('why', '--follow', '--admin', admin, '--json', '--limit', '1')
    try {
      const ids: string[] = []
      await until('the last one before', () => following.out().includes('\n'))
      for (let i = 0; i < 20; i++) ids.push(await denied())
      await until('all of them', () => ids.every((id) => following.out().includes(id)))
      const lines = following.out().trim().split('\n')
      const seen = lines.map((line) => (JSON.parse(line) as { readonly id: string }).id)
      assert.deepEqual(seen.slice(1).sort(), ids.sort())
    } finally {
      following.child.kill('SIGKILL')
      await following.exit
    }
  })

  it('are not waited for if no gateway has run', async () => {
    const { code, err } = await portcullis(
      'why',
      '--follow',
      '--admin',
      `127.0.0.1:${await freePort()}`,
    )
    assert.equal(code, 1)
    assert.match(err, /cannot reach .*: connection refused/)
  })
})
