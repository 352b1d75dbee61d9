// A worker that V8 aborts is replaced, counted and explained, while requests are served.

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { free } from '../proxy/accepting.ts'
import { exchange, listen } from '../proxy/harness.ts'
import { type Running, recordsIn, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'
import { workersOf } from '../proxy/worker-processes.ts'

const PRELOAD = join(import.meta.dirname, 'preload/dying-worker.ts')
/** Seconds: a worker that exited before is restarted after a delay. */
const RESTART = 60
const RESTARTS = 'portcullis_worker_restarts_total'

describe('a worker that aborts', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const flag = join(folder, 'flag')
  let backend: Server
  let running: Running
  let port: number

  before(async () => {
    backend = createServer((_, response) => response.end('served'))
    const backendPort = await listen(backend)
    port = await free()
    const text = `gateways: { default: { port: ${port} } }
routes: [{ name: all, backends: [{ host: 127.0.0.1:${backendPort} }] }]
`
    running = await startRunning(text, {
      workers: 2,
      preload: PRELOAD,
      environment: { DYING_WORKER: flag },
      config: '  limits: { delay: 0s }\n',
    })
  })

  after(async () => {
    await running.stop()
    backend.close()
    rmSync(folder, { recursive: true })
  })

  const get = 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n'
  /** Requests one after the other, each on a connection of its own. */
  async function serveAll(): Promise<void> {
    for (let sent = 0; sent < 20; sent++) {
      assert.match(await exchange(port, get, 'served'), /200 OK/, `request ${sent}`)
    }
  }

  const exits = () => recordsIn(running.out()).filter(({ error }) => error === 'the worker exited')

  /** Ends one worker; from then on, requests go to the other one and to its replacement. */
  async function end(way: string): Promise<Readonly<Record<string, unknown>>> {
    const [restarts, count] = [await running.metric(RESTARTS), exits().length]
    const pids = workersOf(running.pid)
    assert.equal(pids.length, 2)
    const victim = pids[0] as number
    if (way === 'SIGKILL') process.kill(victim, 'SIGKILL')
    else {
      writeFileSync(flag, way)
      process.kill(victim, 'SIGUSR2')
    }
    // From then on, its listening sockets are closed and accept no connection.
    await until('the record', () => exits().length > count, RESTART)
    await serveAll()
    await until('both', async () => (await running.metric('portcullis_workers')) === 2, RESTART)
    assert.equal(await running.metric(RESTARTS), restarts + 1)
    return exits().at(-1) ?? {}
  }

  it('by a check of V8 is replaced and counted, and the log has the signal and the text', async () => {
    const { reason, stderr, worker } = await end('check')
    assert.equal(reason, 'SIGTRAP')
    assert.equal(typeof worker, 'number')
    assert.match(
      String(stderr),
      /^#\n# Fatal error in , line 0\n# Check failed: a state of V8\.\n#$/,
    )
  })

  it('by a call of abort is replaced and counted, and the log has its stack trace', async () => {
    const { reason, stderr } = await end('abort')
    assert.equal(reason, 'SIGABRT')
    assert.match(String(stderr), /Native stack trace/)
  })

  it('by a kill is replaced and counted, and the log has no text', async () => {
    const { reason, stderr } = await end('SIGKILL')
    assert.deepEqual([reason, stderr], ['SIGKILL', undefined])
  })

  it('again and again is restarted at growing intervals while the other one serves', async () => {
    writeFileSync(flag, 'at once')
    const [victim] = workersOf(running.pid)
    const count = exits().length
    const restarts = await running.metric(RESTARTS)
    process.kill(victim as number, 'SIGKILL')
    await wait(7_000)
    await serveAll()
    rmSync(flag)
    const times = exits()
      .slice(count)
      .map(({ time }) => Date.parse(String(time)))
    // At once, after 1 s, after 2 s more, and so on; earlier exits count towards the delay.
    const started = (await running.metric(RESTARTS)) - restarts
    assert.ok(started >= 1 && started <= 4, `${started} restarts`)
    const gaps = times.slice(1).map((time, at) => time - (times[at] as number))
    assert.ok(
      gaps.slice(1).every((gap, at) => gap > (gaps[at] as number)),
      gaps.join(),
    )
    await until('both', async () => (await running.metric('portcullis_workers')) === 2, RESTART)
  })
})
