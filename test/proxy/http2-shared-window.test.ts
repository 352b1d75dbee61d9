import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { connect } from 'node:http2'
import { after, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { listen } from './harness.ts'
import { askHttp2 } from './http2-peers.ts'
import { startWhole } from './whole-gateway.ts'

/** More than the windows of the connection and of all its streams together. */
const SIZE = 3_000_000
const COUNT = 6

const opened: (() => unknown)[] = []
after(async () => {
  for (const close of opened) await close()
})

/**
 * A backend that reports how many bytes it received, and a gateway with at most `connections`
 * connections to it.
 */
async function start(connections: number, path = '/none') {
  const held: (() => void)[] = []
  const server = createServer((request, response) => {
    let received = 0
    const read = () => {
      request.on('data', (bytes: Buffer) => {
        received += bytes.length
      })
      request.on('end', () => response.end(String(received)))
    }
    if (request.url === path) held.push(read)
    else read()
  })
  const backend = await listen(server)
  const port = await free()
  // Without this timeout, a request that waits in vain would wait forever.
  const gateway = await startWhole(`config: { backend: { connectTimeout: 120s } }
gateways: { default: { port: ${port} } }
routes:
- name: limited
  matches: [{ path: { pathPrefix: /limited } }]
  backends:
  - host: 127.0.0.1:${backend}
    policies: { connectionLimits: { maxConnections: ${connections} } }
- name: all
  backends: [{ host: '127.0.0.1:${backend}' }]
`)
  const client = connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 64 })
  client.on('error', () => {})
  opened.push(async () => {
    client.destroy()
    for (const read of held) read()
    server.closeAllConnections()
    server.close()
    await gateway.stop()
  })
  const upload = async (to: string) => {
    const { status, body } = await askHttp2(client, {
      method: 'POST',
      path: to,
      body: Buffer.alloc(SIZE),
    })
    return `${status} ${body}`
  }
  return { upload, held }
}

describe('uploads on one HTTP/2 connection, which share its window', () => {
  for (const connections of [1, 2])
    it(`${COUNT} at once, ${connections} at a time to the backend: all are served`, async () => {
      const { upload } = await start(connections)
      const all = await Promise.all(Array.from({ length: COUNT }, () => upload('/limited')))
      assert.deepEqual([...new Set(all)], [`200 ${SIZE}`])
    })

  it('waiting uploads do not block one to another backend', async () => {
    const { upload, held } = await start(1, '/limited/held')
    const first = upload('/limited/held')
    const waiting = Array.from({ length: COUNT }, () => upload('/limited'))
    assert.equal(await upload('/other'), `200 ${SIZE}`)
    assert.equal(await upload('/other'), `200 ${SIZE}`)
    held.shift()?.()
    const all = await Promise.all([first, ...waiting])
    assert.deepEqual([...new Set(all)], [`200 ${SIZE}`])
  })
})
