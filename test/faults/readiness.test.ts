import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { exchange, listen } from '../proxy/harness.ts'
import { type Running, recordsIn, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'
import { workersOf } from '../proxy/worker-processes.ts'

/** Seconds: workers that keep exiting are restarted at growing intervals, of up to 30 s. */
const RESTART = 60
const PRELOAD = join(import.meta.dirname, 'preload/unable-worker.ts')

describe('readiness reflects the workers', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-'))
  const flag = join(folder, 'flag')
  let backend: Server
  let running: Running
  let port: number

  before(async () => {
    backend = createServer((_, response) => response.end('served'))
    const behind = await listen(backend)
    port = await free()
    const text = `gateways: { default: { port: ${port} } }
routes: [{ name: all, backends: [{ host: 127.0.0.1:${behind} }] }]
`
    running = await startRunning(text, {
      workers: 2,
      preload: PRELOAD,
      environment: { UNABLE_WORKER: flag },
    })
  })

  after(async () => {
    await running.stop()
    backend.close()
    rmSync(folder, { recursive: true })
  })

  const kill = (count: number) => {
    for (const pid of workersOf(running.pid).slice(0, count)) process.kill(pid, 'SIGKILL')
  }

  const readiness = async () => {
    const response = await fetch(`http://127.0.0.1:${running.ports.ready}/healthz/ready`)
    return `${response.status} ${(await response.text()).trim()}`
  }

  const served = async () =>
    (await exchange(port, 'GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')).includes('200')

  it('is 503 without workers, and 200 again once they are back', async () => {
    assert.equal(await readiness(), '200 ready')
    assert.equal(await running.metric('portcullis_workers'), 2)
    writeFileSync(flag, 'ends')
    kill(2)
    await until('503', async () => (await readiness()) === '503 no worker is serving')
    assert.equal(await running.metric('portcullis_workers'), 0)
    rmSync(flag)
    await until('both', async () => (await readiness()) === '200 ready', RESTART)
    assert.ok(await served())
  })

  it('a worker that cannot apply the configuration is reported, and retried', async () => {
    writeFileSync(flag, 'rejects')
    kill(1)
    await until('fewer', async () => /^200 ready, 1 of 2/.test(await readiness()))
    const isIt = ({ error }: Record<string, unknown>) =>
      error === 'the worker could not apply the configuration'
    await until('the record', () => recordsIn(running.out()).some(isIt), RESTART)
    const record = recordsIn(running.out()).find(isIt)
    assert.equal(record?.['detail'], 'port 1 may not be used')
    const series = 'portcullis_worker_exits_total{outcome="not-applied"}'
    await until('the count', async () => (await running.metric(series)) > 0, RESTART)
    rmSync(flag)
    await until('both', async () => (await readiness()) === '200 ready', RESTART)
  })
})
