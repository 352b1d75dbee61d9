import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { afterEach, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { free } from './accepting.ts'
import { exchange, type RawUpstream, startUpstream } from './harness.ts'
import { startWhole, until } from './whole-gateway.ts'

/*
 * A peer that disconnects while a body is held leaves nothing behind: there is room for 128 bodies
 * of the max length, and more than that are aborted midway.
 */

const ROUNDS = 150
const BODY = 'x'.repeat(900)
const TYPE = 'content-type: text/plain\r\n'
const WHOLE = `HTTP/1.1 200 OK\r\n${TYPE}content-length: 900\r\n\r\n${BODY}`
const HALF = WHOLE.replace('900', '950')

const POLICIES = {
  'a changed request': `transformations: { request: { body: "'[' + string(request.body) + ']'" } }`,
  'a changed response': `transformations: { response: { body: "'<' + string(response.body) + '>'" } }`,
  'a buffer': 'buffer: { request: { maxBytes: 1000 }, response: { maxBytes: 1000 } }',
  'all together': `compression: { minBytes: 1 }, buffer: { request: {}, response: {} }, retry: { attempts: 2, codes: [503] }, transformations: { request: { body: "string(request.body)" }, response: { body: "string(response.body)" } }`,
} as const

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0)) await close()
})

async function start(policies: string) {
  const coded = gzipSync(BODY).toString('latin1')
  const upstream: RawUpstream = await startUpstream((text, socket) => {
    const path = / (\/\w*) HTTP/.exec(text)?.[1]
    if (path === '/whole') socket.write(WHOLE)
    else if (path === '/coded')
      socket.write(
        `HTTP/1.1 200 OK\r\n${TYPE}content-encoding: gzip\r\ncontent-length: ${coded.length}\r\n\r\n${coded}`,
        'latin1',
      )
    else if (path === '/cut') socket.write(HALF, () => socket.destroy())
    else if (path === '/half') socket.write(HALF)
  })
  const port = await free()
  const gateway = await startWhole(`gateways: { default: { port: ${port} } }
frontendPolicies: { http: { maxBufferSize: 1000 } }
routes:
- policies: { ${policies} }
  backends: [{ host: '127.0.0.1:${upstream.port}' }]
`)
  opened.push(
    () => upstream.close(),
    () => gateway.stop(),
  )
  return { port, gateway, upstream }
}

const head = (path: string) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept-encoding: gzip\r\ncontent-length: 900\r\n\r\n`

/** Sends part of a request, and disconnects once the gateway has it. */
async function leave(port: number, text: string, isThere: () => Promise<void>) {
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(text)
  await isThere()
  socket.resetAndDestroy()
}

for (const [name, policies] of Object.entries(POLICIES)) {
  describe(`${name} leaves nothing behind`, () => {
    const serves = async (port: number) => {
      const text = await exchange(port, head('/whole') + BODY)
      assert.match(text, /^HTTP\/1\.1 200 /)
    }

    it('if clients disconnect in the middle of a request', async () => {
      const { port, gateway } = await start(policies)
      for (let at = 0; at < ROUNDS; at += 30) {
        await Promise.all(
          Array.from({ length: 30 }, () =>
            leave(port, head('/whole') + BODY.slice(1), () =>
              until('the connection', () => gateway.connections() > 0),
            ),
          ),
        )
        await until('their end', () => gateway.connections() === 0)
      }
      await serves(port)
    })

    it('if clients disconnect before the response is complete, HTTP/1.1 and HTTP/2', async () => {
      const { port, gateway, upstream } = await start(policies)
      for (let at = 0; at < ROUNDS; at += 30) {
        // Checked once for all: the first to disconnect is no longer counted.
        const asked = until('the requests', () => upstream.sockets.size >= 30)
        const ways = Array.from({ length: 30 }, async (_, i) => {
          if (i % 2 === 0) return leave(port, head('/half') + BODY, () => asked)
          const session = connectHttp2(`http://127.0.0.1:${port}`)
          session.on('error', () => {})
          const stream = session.request({ ':method': 'POST', ':path': '/half' })
          stream.on('error', () => {})
          stream.end(BODY)
          await asked
          session.destroy()
        })
        await Promise.all(ways)
        await until('their end', () => upstream.sockets.size === 0)
      }
      await until('their end', () => gateway.connections() === 0)
      await serves(port)
    })

    it('if backends break off, and if all goes well', async () => {
      const { port } = await start(policies)
      for (const path of ['/cut', '/whole', '/coded']) {
        const isHeld = name !== 'a changed request' && path === '/cut'
        for (let at = 0; at < ROUNDS; at += 30) {
          const asked = Array.from({ length: 30 }, () => exchange(port, head(path) + BODY))
          for (const text of await Promise.all(asked))
            assert.match(text, isHeld ? /^HTTP\/1\.1 502 / : /^HTTP\/1\.1 200 /)
        }
      }
      await serves(port)
    })
  })
}
