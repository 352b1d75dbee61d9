// Short-lived objects are collected while no request waits for its response.

import assert from 'node:assert/strict'
import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { free } from '../proxy/accepting.ts'
import { type Running, startRunning } from '../proxy/running.ts'
import { until } from '../proxy/whole-gateway.ts'

/**
 * Prints a line for each collection, and starts V8 without flags: with flags, a gateway would leave
 * collections to V8.
 */
const TRACED = fileURLToPath(import.meta.resolve('../../bench/proxy/traced-gateway.ts'))
const MAX_REQUESTS = 60_000
const COLLECTIONS = 4
/** Long headers, which produce garbage to collect. */
const LONG = Object.fromEntries(
  Array.from({ length: 50 }, (_, at) => [`x-long-${at}`, 'x'.repeat(100)]),
)

describe('collections of short-lived objects', () => {
  const backend = createServer((request, response) => {
    if (request.url === '/stream') {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: begun\n\n')
    } else if (request.url === '/waits') waiting.push(() => response.end('ok'))
    else response.end('ok')
  })
  const waiting: (() => void)[] = []
  const agent = new Agent({ keepAlive: true, maxSockets: 2 })
  let running: Running
  let port: number
  /** The reason of each collection: V8 reports `testing` for those requested explicitly. */
  let reasons: string[] = []

  before(async () => {
    port = await free()
    await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve))
    running = await startRunning(
      `gateways:
  default: { port: ${port}, protocol: HTTP }
routes:
- backends: [{ host: 127.0.0.1:${(backend.address() as AddressInfo).port} }]
`,
      { through: TRACED },
    )
    let rest = ''
    running.child.stdout?.on('data', (bytes) => {
      const lines = `${rest}${bytes}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const reason = /ms: Scavenge .*\) ([a-z ]+);/.exec(line)?.[1]
        if (reason !== undefined) reasons.push(reason)
      }
    })
  })
  after(async () => {
    agent.destroy()
    backend.closeAllConnections()
    backend.close()
    await running.stop()
  })

  const open = (path: string) => get({ port, host: '127.0.0.1', path, agent }).on('error', () => {})
  const request = () =>
    new Promise<void>((resolve, reject) => {
      get({ port, host: '127.0.0.1', agent, headers: LONG }, (response) =>
        response.resume().on('end', resolve),
      ).on('error', reject)
    })

  /** Counts some collections during sequential requests, by who started them. */
  async function collections() {
    reasons = []
    for (let made = 0; made < MAX_REQUESTS && reasons.length < COLLECTIONS; made++) await request()
    const own = reasons.filter((reason) => reason === 'testing').length
    return { own, ofV8: reasons.length - own }
  }

  it('run between requests', async () => {
    await collections()
    const { own, ofV8 } = await collections()
    assert.ok(own > ofV8, `${own} between requests, ${ofV8} within one`)
  })

  it('run while a stream is open', async () => {
    const stream = open('/stream')
    await new Promise((resolve) =>
      stream.on('response', (response) => response.once('data', resolve)),
    )
    const { own, ofV8 } = await collections()
    stream.destroy()
    assert.ok(own > ofV8, `${own} between requests, ${ofV8} within one`)
  })

  it('are left to V8 while a request is always waiting', async () => {
    const waits = open('/waits')
    await until('the request', () => waiting.length > 0)
    const { own, ofV8 } = await collections()
    assert.equal(own, 0)
    assert.ok(ofV8 >= COLLECTIONS)
    waiting.pop()?.()
    await new Promise((resolve) =>
      waits.on('response', (response) => response.resume().on('end', resolve)),
    )
  })
})
