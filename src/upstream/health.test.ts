import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { describe, it } from 'node:test'
import { Deadlines } from '../wire/deadlines.ts'
import { dialer } from './connect.ts'
import { DIAL, eventually, freePort, RESPONSE, responding, serve } from './fixtures/servers.ts'
import { type CheckOutcome, type HealthCheck, probe, watchHealth } from './health.ts'

const HTTP: HealthCheck = {
  http: { path: '/healthz', codes: [200, 204] },
  interval: 20,
  // Longer than any pause of the process.
  timeout: 600_000,
  unhealthyThreshold: 3,
  healthyThreshold: 2,
}
const TCP: HealthCheck = { ...HTTP, http: undefined, tcp: {} }
const SHORT: HealthCheck = { ...HTTP, timeout: 20 }

function probed(port: number) {
  const dial = dialer({ kind: 'tcp', host: '127.0.0.1', port }, DIAL)
  return { dial, host: 'api.test', deadlines: new Deadlines(10), random: () => 0.5 }
}

const check = (port: number, how: HealthCheck) =>
  new Promise<CheckOutcome>((resolve) => void probe(how, probed(port), resolve))

describe('one health check', () => {
  for (const [sentence, how, behave, expected] of [
    ['GET that gets a wanted status', HTTP, responding(), 'healthy'],
    ['GET that gets another', HTTP, responding(RESPONSE.replace('200', '503')), 'unhealthy'],
    ['GET without a response', SHORT, () => {}, 'timeout'],
    ['GET that gets no HTTP', HTTP, responding('220 mail\r\n\r\n'), 'unhealthy'],
    ['GET and a reset', HTTP, (socket: Socket) => void socket.resetAndDestroy(), 'unhealthy'],
    ['a half-open connection', HTTP, (socket: Socket) => void socket.end(), 'unhealthy'],
    ['a connection that opens', TCP, () => {}, 'healthy'],
  ] as const) {
    it(`${sentence}: ${expected}`, async () => {
      const server = await serve(behave)
      assert.equal(await check(server.port, how), expected)
      assert.ok(await eventually(() => server.sockets.size === 0))
      await server.close()
    })
  }

  for (const how of [HTTP, TCP]) {
    it(`a rejected connection: unhealthy (${how.http === undefined ? 'TCP' : 'HTTP'})`, async () => {
      assert.equal(await check(await freePort(), how), 'unhealthy')
    })
  }

  it('requests the path with the host', async () => {
    const seen: string[] = []
    const server = await serve((socket) => {
      socket.once('data', (bytes) => seen.push(bytes.toString('latin1')))
      responding()(socket)
    })
    await check(server.port, HTTP)
    assert.match(seen[0] ?? '', /^GET \/healthz HTTP\/1\.1\r\nHost: api\.test\r\n/)
    await server.close()
  })
})

describe('repeated health checks', () => {
  it('thresholds decide when an endpoint is ejected and restored', async () => {
    let status = 200
    const server = await serve(responding(() => RESPONSE.replace('200', String(status))))
    const outcomes: CheckOutcome[] = []
    const changes: boolean[] = []
    const at: number[] = []
    const stop = watchHealth(HTTP, probed(server.port), {
      checked: (outcome) => outcomes.push(outcome),
      changed: (isHealthy) => {
        changes.push(isHealthy)
        at.push(outcomes.length)
      },
    })
    assert.ok(await eventually(() => outcomes.length >= 3))
    assert.deepEqual(changes, [])
    status = 500
    assert.ok(await eventually(() => changes.length === 1))
    assert.deepEqual(outcomes.slice((at[0] ?? 0) - 3, at[0]), Array(3).fill('unhealthy'))
    status = 204
    assert.ok(await eventually(() => changes.length === 2))
    assert.deepEqual(changes, [false, true])
    assert.deepEqual(outcomes.slice((at[1] ?? 0) - 2, at[1]), Array(2).fill('healthy'))
    stop()
    const before = outcomes.length
    await new Promise((resolve) => setTimeout(resolve, 80))
    assert.equal(outcomes.length, before)
    assert.ok(await eventually(() => server.sockets.size === 0))
    await server.close()
  })

  it('an endpoint is ejected if its first check fails', async () => {
    const changes: boolean[] = []
    const stop = watchHealth(HTTP, probed(await freePort()), {
      checked: () => {},
      changed: (isHealthy) => changes.push(isHealthy),
    })
    assert.ok(await eventually(() => changes.length === 1))
    assert.deepEqual(changes, [false])
    stop()
  })
})
