import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { exchange, listen } from '../proxy/harness.ts'
import { type Running, recordsIn, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'
import { workersOf } from '../proxy/worker-processes.ts'

const PRELOAD = join(import.meta.dirname, 'preload/throwing.ts')

describe('processes survive errors thrown in them', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  let backend: Server
  let running: Running
  let port: number
  let text: string

  before(async () => {
    backend = createServer((_, response) => response.end('served'))
    const behind = await listen(backend)
    port = await free()
    text = `gateways: { default: { port: ${port} } }
routes:
- name: all
  policies: { authorization: { rules: [{ deny: "request.headers['x-thrower'] == 'a'" }] } }
  backends: [{ host: 127.0.0.1:${behind} }]
`
    running = await startRunning(text, { workers: 2, preload: PRELOAD })
  })

  after(async () => {
    await running.stop()
    backend.close()
  })

  const workers = () => workersOf(running.pid)

  const ask = async (headers = '') => {
    const head = `GET / HTTP/1.1\r\nhost: x\r\n${headers}connection: close\r\n\r\n`
    return Number((await exchange(port, head)).slice(9, 12))
  }

  const reported = (error: string) =>
    recordsIn(running.out()).filter((record) => String(record['error']).includes(error))

  it('a rule that throws denies every time, and no worker exits', async () => {
    const before = workers()
    for (let i = 0; i < 12; i++) assert.equal(await ask('x-throws: 1\r\n'), 403)
    for (let i = 0; i < 12; i++) assert.equal(await ask(), 200)
    assert.deepEqual(workers(), before)
    await until('the records', () => reported('planted rule').length === 12)
    const [record] = reported('planted rule')
    assert.deepEqual(
      [record?.['call-out'], record?.['policy'], record?.['rule']],
      ['rule', 'route:all', 'authorization[0]'],
    )
    assert.equal(await running.metric('portcullis_internal_errors_total{callout="rule"}'), 12)
  })

  it('a timer and a promise, in a worker and in the parent process', async () => {
    const before = workers()
    for (const pid of [Number(before[0]), running.pid]) process.kill(pid, 'SIGUSR2')
    await until('the records', () => reported('planted timer').length === 2)
    await until('the records', () => reported('planted promise').length === 2)
    for (const record of reported('planted timer')) assert.equal(record['call-out'], 'process')
    for (let i = 0; i < 12; i++) assert.equal(await ask(), 200)
    assert.deepEqual(workers(), before)
    assert.equal(await running.status('/healthz/ready'), 200)
    assert.equal(await running.metric('portcullis_internal_errors_total{callout="process"}'), 4)
  })

  it('a rejected change is logged with its error and no preceding warning', async () => {
    const warned = text.replace("request.headers['x-thrower'] == 'a'", 'true')
    running.write(`${warned}  unknown: 1\n`)
    const rejected = () =>
      recordsIn(running.out()).find(({ outcome }) => outcome === 'rejected')?.['error']
    await until('the record', () => rejected() !== undefined)
    assert.match(String(rejected()), /`unknown`/)
    assert.match(running.out(), /PC0110/, 'there was a warning before it')
    running.write(text)
    await until('service', async () => (await ask()) === 200)
  })
})
