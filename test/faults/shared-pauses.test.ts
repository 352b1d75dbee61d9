import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, afterEach, before, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { exchange, listen } from '../proxy/harness.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'
import { workersOf } from '../proxy/worker-processes.ts'

const WORKERS = 4

describe('a pause that a provider asks for', {
  skip: process.platform === 'linux' ? false : 'needs /proc',
}, () => {
  let limited: Server
  let other: Server
  let asked = 0
  let port = 0
  let running: Running | undefined

  before(async () => {
    limited = createServer((_, response) => {
      asked++
      response.writeHead(429, { 'retry-after': '600' }).end('{}')
    })
    other = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"choices":[]}')
    })
    port = await free()
    const provider = (name: string, at: number) => ({
      ...{ name, provider: { openAI: {} }, hostOverride: `127.0.0.1:${at}` },
    })
    const groups = [
      { providers: [provider('first', await listen(limited))] },
      { providers: [provider('second', await listen(other))] },
    ]
    const routes = JSON.stringify([{ backends: [{ ai: { groups } }] }])
    const config = `gateways: { default: { port: ${port} } }\nroutes: ${routes}\n`
    running = await startRunning(config, { workers: WORKERS })
  })

  afterEach(() => {
    asked = 0
  })

  after(async () => {
    await running?.stop()
    for (const server of [limited, other]) {
      server.close()
      server.closeAllConnections()
    }
  })

  /** Uses a new connection, so that any worker may get it. */
  const call = async () => {
    const body = '{"model":"m","messages":[{"role":"user","content":"a"}]}'
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`
    return Number((await exchange(port, head + body)).slice(9, 12))
  }

  it('is kept by all workers', async () => {
    for (let count = 0; count < 40; count++) assert.equal(await call(), 200)
    // A second call may be on its way before the other workers know.
    assert.ok(asked >= 1 && asked <= 2, `${asked} calls`)
  })

  it('is kept by workers that start later', async () => {
    const { pid } = running as Running
    const before = await workersOf(pid)
    for (const one of before.slice(0, 2)) process.kill(one, 'SIGKILL')
    await until('other workers', async () => {
      const now = await workersOf(pid)
      return now.length === WORKERS && before.slice(0, 2).every((one) => !now.includes(one))
    })
    for (let count = 0; count < 40; count++) await call().catch(() => 0)
    assert.equal(asked, 0)
  })
})
