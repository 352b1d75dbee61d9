import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, afterEach, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { exchange, listen } from '../proxy/harness.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'
import { workersOf } from '../proxy/worker-processes.ts'

describe('a local rate limit applies to the whole gateway', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  let backend: Server
  let behind: number
  let port: number
  let running: Running | undefined

  before(async () => {
    backend = createServer((_, response) => response.end('served'))
    behind = await listen(backend)
  })

  afterEach(async () => {
    await running?.stop()
    running = undefined
  })

  after(() => {
    backend.close()
    backend.closeAllConnections()
  })

  const config = (limit: string, more = '') => `gateways: { default: { port: ${port} } }
routes:
- name: all
  policies: { localRateLimit: ${limit} }
  backends: [{ host: 127.0.0.1:${behind} }]
${more}`

  const start = async (workers: number, limit: string) => {
    port = await free()
    running = await startRunning(config(limit), { workers })
    return running
  }

  /** Uses a new connection, so that any worker may get it. */
  const ask = async (headers = '') => {
    const bytes = `GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n${headers}\r\n`
    return Number((await exchange(port, bytes)).slice(9, 12))
  }

  const admitted = async (count: number, isAtOnce: boolean, headers?: string) => {
    const statuses: number[] = []
    if (isAtOnce)
      statuses.push(...(await Promise.all(Array.from({ length: count }, () => ask(headers)))))
    else for (let i = 0; i < count; i++) statuses.push(await ask(headers))
    assert.deepEqual(
      statuses.filter((status) => status !== 200 && status !== 429),
      [],
    )
    return statuses.filter((status) => status === 200).length
  }

  const pids = workersOf

  for (const workers of [1, 2, 4]) {
    for (const limit of [10, 500]) {
      it(`${limit} requests are ${limit} with ${workers} workers, one by one and at once`, async () => {
        await start(workers, `{ requests: ${limit}, unit: Days, key: "request.headers['x-user']" }`)
        const [few, many] = [Math.ceil(limit / 4), limit + 60]
        assert.equal(await admitted(few, false), few)
        assert.equal(await admitted(many, true), limit - few)
        assert.equal(await admitted(20, false), 0)
        assert.equal(await admitted(many, true, 'x-user: other\r\n'), limit)
      })
    }
  }

  it('survives the death of workers and never admits more', async () => {
    const { pid } = await start(2, '{ requests: 12, unit: Days }')
    assert.equal(await admitted(6, false), 6)
    for (let turn = 0; turn < 2; turn++) {
      const before = pids(pid)
      process.kill(before[turn] as number, 'SIGKILL')
      await until(
        'a new worker',
        () => pids(pid).length === 2 && pids(pid).join() !== before.join(),
      )
      await until('its service', async () => (await ask()) !== 0)
    }
    const seen = 6 + (await admitted(40, true))
    assert.ok(seen <= 12, `${seen} of 12`)
    assert.equal(await admitted(10, false), 0)
  })

  it('survives reloads that keep the policy', async () => {
    const limit = '{ requests: 10, unit: Days }'
    const own = await start(2, limit)
    assert.equal(await admitted(4, true), 4)
    await own.reload(config(limit, '- { name: more, matches: [{ path: { exact: /more } }] }\n'))
    assert.equal(await admitted(30, true), 6)
    await own.reload(config('{ requests: 3, unit: Days }'))
    assert.equal(await admitted(30, true), 3, 'another limit begins anew')
  })

  it('refills for all workers together', async () => {
    await start(2, '{ requests: 5, unit: Seconds }')
    let total = 0
    const startedAt = performance.now()
    while (performance.now() - startedAt < 2_500) total += await admitted(10, true)
    const seconds = Math.ceil((performance.now() - startedAt) / 1_000)
    assert.ok(total >= 10 && total <= 5 * (seconds + 1), `${total} in ${seconds} s`)
  })
})
