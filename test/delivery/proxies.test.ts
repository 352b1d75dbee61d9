// Proxies and controllers as separate processes, killed at arbitrary times.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { freePort, status, until } from '../cli/running.ts'
import { PORTCULLIS } from '../programs.ts'

const CONTROLLER = join(import.meta.dirname, 'controller.ts')

interface Started {
  readonly child: ChildProcess
  readonly out: () => string
  readonly exit: Promise<number | null>
}

const started = new Set<Started>()

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Started {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (text += bytes))
  const exit = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const one = { child, out: () => text, exit }
  started.add(one)
  void exit.then(() => started.delete(one))
  return one
}

async function kill({ child, exit }: Started): Promise<void> {
  child.kill('SIGKILL')
  await exit
}

afterEach(async () => {
  await Promise.all([...started].map(kill))
})

describe('a proxy and its controller', () => {
  const folder = mkdtempSync(join(tmpdir(), 'delivery-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const routes = join(folder, 'routes.yaml')
  const settings = join(folder, 'config.yaml')
  const token = join(folder, 'token')
  let backend: Server
  let http = 0
  let ready = 0
  let xds = 0

  before(async () => {
    backend = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1')
    await new Promise((resolve) => backend.on('listening', resolve))
    http = await freePort()
    ready = await freePort()
    xds = await freePort()
    writeFileSync(token, 'token-of-a')
    writeFileSync(
      settings,
      `config: { workers: 1, adminAddr: off, statsAddr: off, readinessAddr: "127.0.0.1:${ready}" }`,
    )
  })
  after(() => backend.close())

  /** Publishes routes that allow GET /PATH for each path. */
  function publish(...rules: readonly (readonly [path: string, expression: string])[]): void {
    const { port } = backend.address() as AddressInfo
    const all = rules.map(([path, expression]) => ({
      name: path,
      matches: [{ path: { pathPrefix: `/${path}` } }],
      backends: [{ host: `127.0.0.1:${port}` }],
      policies: { authorization: { rules: [{ allow: expression }] } },
    }))
    const text = JSON.stringify({ gateways: { default: { port: http } }, routes: all })
    writeFileSync(`${routes}.new`, text)
    renameSync(`${routes}.new`, routes)
  }

  const GET = "request.method == 'GET'"
  const startController = async () => {
    const controller = start([CONTROLLER, `${xds}`, routes])
    await until('the controller', () => controller.out().includes('listening'))
    return controller
  }
  const startProxy = (state?: string) =>
    start([PORTCULLIS, 'run', '-f', settings], {
      PORTCULLIS_XDS_ADDRESS: `http://127.0.0.1:${xds}`,
      PORTCULLIS_XDS_TOKEN: token,
      ...(state === undefined ? {} : { PORTCULLIS_XDS_STATE: state }),
      POD_NAME: 'pod-1',
    })
  const isReady = async () => (await status(ready, '/healthz/ready')) === 200

  it('is live before its first configuration, and ready only after it', async () => {
    publish(['a', GET])
    const proxy = startProxy()
    await until('liveness', async () => (await status(ready, '/healthz/live')) === 200)
    assert.equal(await status(ready, '/healthz/ready'), 503)
    assert.equal(await status(http, '/a'), 0)
    await startController()
    await until('readiness', isReady)
    assert.equal(await status(http, '/a'), 200)
    assert.equal(await status(http, '/a', { method: 'POST' }), 403)
    proxy.child.kill('SIGTERM')
    assert.equal(await proxy.exit, 0)
  })

  it('keeps serving while the controller is killed and restarted', async () => {
    publish(['a', GET])
    const first = await startController()
    startProxy()
    await until('readiness', isReady)
    await kill(first)
    assert.equal(await status(http, '/a'), 200)
    publish(['b', GET])
    const second = await startController()
    await until('the change', async () => (await status(http, '/b')) === 200)
    assert.equal(await status(http, '/a'), 404)
    // The controller is killed in the middle of updates.
    for (let count = 0; count < 20; count++) publish(['c', GET], [`c${count}`, GET])
    await kill(second)
    assert.ok(await isReady())
    publish(['d', GET])
    await startController()
    await until('the last change', async () => (await status(http, '/d')) === 200)
  })

  it('serves its last configuration after a restart if the controller is down', async () => {
    publish(['a', GET])
    const state = join(folder, 'state.json')
    const controller = await startController()
    const proxy = startProxy(state)
    await until('readiness', isReady)
    for (let count = 0; count < 10; count++) publish(['b', GET], [`b${count}`, GET])
    await until('the last change', async () => (await status(http, '/b9')) === 200)
    await until('the report', () => controller.out().split('\n').length > 2)
    // It is written after it is applied, up to the line that commits it.
    await until('the stored state', () =>
      /routes\/b9.*\n(?:.*\n)*\{"version"/.test(readFileSync(state, 'utf8')),
    )
    await Promise.all([kill(controller), kill(proxy)])
    const again = startProxy(state)
    await until('readiness', isReady)
    assert.equal(await status(http, '/b'), 200, again.out())
    assert.equal(await status(http, '/b', { method: 'POST' }), 403)
    publish(['c', GET])
    await startController()
    await until('the next change', async () => (await status(http, '/c')) === 200)
  })

  it('rejects an invalid resource by name, denies the requests it guards and serves the rest', async () => {
    publish(['a', GET])
    const controller = await startController()
    startProxy()
    await until('readiness', isReady)
    publish(['a', GET], ['bad', 'request.nothing()'], ['c', GET])
    await until('the change', async () => (await status(http, '/c')) === 200)
    assert.equal(await status(http, '/a'), 200)
    assert.equal(await status(http, '/bad'), 500)
    await until('the rejection', () => controller.out().includes('"resource":"routes/bad"'))
    const line = controller.out().trim().split('\n').at(-1) as string
    const { node, outcome } = JSON.parse(line)
    assert.equal(node, 'pod-1')
    assert.equal(outcome.rejections.length, 1)
    assert.equal(outcome.rejections[0].diagnostics[0].severity, 'error')
    publish(['a', GET], ['bad', GET], ['c', GET])
    await until('the fix', async () => (await status(http, '/bad')) === 200)
  })

  it('rejects a file with routes at startup if a controller is configured', async () => {
    const file = join(folder, 'both.yaml')
    writeFileSync(file, 'gateways: { default: { port: 4000 } }')
    const proxy = start([PORTCULLIS, 'run', '-f', file, '--xds', 'http://127.0.0.1:1'])
    assert.equal(await proxy.exit, 1)
    assert.match(proxy.out(), /PC0804/)
  })
})
