import assert from 'node:assert/strict'
import { once } from 'node:events'
import net from 'node:net'
import { after, before, beforeEach, describe, it } from 'node:test'
import { modelRoomFor, roomFor } from '../../src/proxy/body-room.ts'
import { Load } from '../../src/proxy/load.ts'
import { type Deciding, freePort, startDeciding } from '../decisions/gateway.ts'
import { type ModelProvider, startModelProvider } from './model-provider.ts'

const MIB = 1 << 20

let openai: ModelProvider
let running: Deciding | undefined
let port = 0

async function serve(more: { http?: object; rule?: string } = {}): Promise<void> {
  const { http = {}, rule } = more
  const provider = {
    ...{ name: 'main', provider: { openAI: {} }, hostOverride: `127.0.0.1:${openai.port}` },
    policies: { backendAuth: { key: 'sk-provider' } },
  }
  const policies = rule === undefined ? {} : { authorization: { rules: [{ require: rule }] } }
  const text = JSON.stringify({
    gateways: { default: { port } },
    frontendPolicies: { http },
    backends: [{ name: 'models', ai: provider }],
    routes: [{ name: 'chat', policies, backends: [{ backend: 'models' }] }],
  })
  if (running === undefined) running = await startDeciding(text, 'json')
  else await running.apply(text)
}

async function call(size: number) {
  const url = `data:image/png;base64,${'A'.repeat(size)}`
  const content = [{ type: 'image_url', image_url: { url } }]
  const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'gpt-x', messages: [{ role: 'user', content }] }),
  })
  return { status: response.status, text: await response.text() }
}

describe('the size of calls to models', () => {
  before(async () => {
    openai = await startModelProvider('openai')
    port = await freePort()
  })

  after(async () => {
    await running?.stop()
    await openai.close()
  })

  beforeEach(() => {
    openai.arrived.length = 0
  })

  it('is 32 MiB by default, and the rejection names the setting', async () => {
    await serve()
    assert.equal((await call(31 * MIB)).status, 200)
    assert.equal(
      openai.arrived[0]?.body.length,
      Number(openai.arrived[0]?.headers['content-length']),
    )
    const { status, text } = await call(33 * MIB)
    assert.equal(status, 413)
    assert.match(JSON.parse(text).error.message, /frontendPolicies\.http\.maxModelBodySize/)
  })

  it('is as configured, or that of any body if it is larger', async () => {
    await serve({ http: { maxModelBodySize: '1Mi' } })
    assert.equal((await call(1.5 * MIB)).status, 200)
    assert.equal((await call(2.5 * MIB)).status, 413)
    await serve({ http: { maxModelBodySize: '3Mi' } })
    assert.equal((await call(2.5 * MIB)).status, 200)
  })

  it('is that of any body if a rule reads it', async () => {
    await serve({ rule: "request.body != b''" })
    const { status, text } = await call(3 * MIB)
    assert.equal(status, 413)
    assert.match(JSON.parse(text).error.message, /frontendPolicies\.http\.maxBufferSize/)
  })

  it('has one limit of memory with all other bodies', () => {
    const load = new Load({ requests: 1, delay: 0 })
    const [plain, models] = [roomFor(load, 2 * MIB), modelRoomFor(load, 2 * MIB, 32 * MIB)]
    for (let count = 0; count < 16; count++) assert.ok(models?.retain(8 * MIB))
    assert.ok(!models?.retain(8 * MIB) && !plain?.retain(8 * MIB))
    models?.release(8 * MIB)
    assert.ok(plain?.retain(8 * MIB))
  })

  it('stays below a gigabyte of memory in a hundred calls of 8 MiB at once', async () => {
    await serve()
    const image = Buffer.alloc(8 * MIB, 'A')
    const head = '{"model":"gpt-x","messages":[{"role":"user","content":"'
    const length = head.length + image.length + 4
    const statuses: Record<string, number> = {}
    let held = 0
    const one = async () => {
      const socket = net.connect(port, '127.0.0.1')
      await once(socket, 'connect')
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: a\r\ncontent-length: ${length}\r\n\r\n${head}`,
      )
      let response = ''
      socket.on('error', () => {})
      socket.on('data', (bytes) => {
        response += bytes.toString('latin1')
        if (response.includes('\r\n\r\n')) socket.destroy()
      })
      // All but the last byte of the body, so that all wait at once.
      socket.write(image)
      await Promise.race([once(socket, 'close'), new Promise((done) => socket.once('drain', done))])
      held++
      while (held < CALLS && !socket.destroyed) await new Promise((done) => setTimeout(done, 20))
      if (!socket.destroyed) socket.write('"}]}')
      if (!socket.destroyed) await once(socket, 'close')
      const status = response.slice(9, 12) || 'closed'
      statuses[status] = (statuses[status] ?? 0) + 1
    }
    const before = process.memoryUsage().rss
    let peak = before
    const look = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss)
    }, 5)
    await Promise.all(Array.from({ length: CALLS }, one))
    clearInterval(look)
    assert.ok((statuses['200'] ?? 0) >= 8, JSON.stringify(statuses))
    assert.ok(peak - before < 1024 * MIB, `${(peak - before) / MIB} MiB more`)
    assert.equal((await call(8 * MIB)).status, 200)
  })
})

const CALLS = 100
