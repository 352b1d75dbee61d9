import assert from 'node:assert/strict'
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  createSecureServer,
  createServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
} from 'node:http2'
import { createServer as createHttps } from 'node:https'
import { createServer as createTcp, type Socket } from 'node:net'
import { after, describe, it } from 'node:test'
import { serveNames } from '../../src/upstream/fixtures/name-server.ts'
import { hasten } from '../passing-time.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { free } from './accepting.ts'
import { exchange, listen } from './harness.ts'
import { startWhole, until } from './whole-gateway.ts'

/** The effect of `connectionLimits`, `healthCheck` and names on HTTP/2 backends. */

const opened: (() => unknown)[] = []
after(async () => {
  for (const close of opened.reverse()) await close()
})

/** Whether the peer has closed the socket. */
const isEnded = (socket: Socket) => {
  socket.resume()
  return socket.readableEnded || socket.destroyed
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x.test\r\nconnection: close\r\n\r\n`

type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void

for (const isTls of [false, true])
  describe(`a backend of HTTP/2, ${isTls ? 'by ALPN' : 'with prior knowledge'}`, {
    skip: isTls && WITHOUT_OPENSSL,
  }, () => {
    const authority = isTls ? makeAuthority('backends') : undefined
    const pair = authority?.issue({ names: ['DNS:moved.fault.test', 'IP:127.0.0.1'] })

    async function serve(handler: Handler, address = '127.0.0.1', port = 0) {
      const sessions = new Set<ServerHttp2Session>()
      const all: ServerHttp2Session[] = []
      const server = pair === undefined ? createServer(handler) : createSecureServer(pair, handler)
      server.on('session', (session) => {
        sessions.add(session)
        all.push(session)
        session.on('error', () => {})
        session.on('close', () => sessions.delete(session))
      })
      if (port === 0) await listen(server)
      else await new Promise((done) => server.listen(port, address, () => done(undefined)))
      opened.push(() => {
        for (const session of sessions) session.destroy()
        server.close()
      })
      return { port: (server.address() as { port: number }).port, sessions, all }
    }

    async function start(host: string, policies: object, config: object = {}) {
      const port = await free()
      const tls =
        authority === undefined ? {} : { backendTLS: { root: { inline: authority.cert } } }
      const own = { http: { version: 'HTTP2' }, ...tls, ...policies }
      const gateway = await startWhole(
        JSON.stringify({
          config,
          gateways: { default: { port } },
          routes: [{ name: 'all', backends: [{ host, policies: own }] }],
        }),
      )
      opened.push(() => gateway.stop())
      const status = async (path = '/') =>
        Number((await exchange(port, get(path))).split(' ', 2)[1])
      const text = async () => /first|second/.exec(await exchange(port, get('/')))?.[0]
      const count = (outcome: string) =>
        Number(
          new RegExp(`checks_total{.*outcome="${outcome}"} (\\d+)`).exec(gateway.metrics())?.[1],
        )
      return { status, text, count }
    }

    it('is checked over HTTP/2', async () => {
      let isWell = true
      const seen: string[] = []
      const backend = await serve((request, response) => {
        seen.push(`${request.httpVersion} ${request.url} ${request.headers[':authority']}`)
        response.statusCode = request.url === '/health' && !isWell ? 500 : 200
        response.end('ok')
      })
      const { status, count } = await start(`127.0.0.1:${backend.port}`, {
        healthCheck: {
          http: { path: '/health', host: 'health.test' },
          interval: '100ms',
          unhealthyThreshold: 1,
          healthyThreshold: 1,
        },
      })
      await until('three checks', () => seen.length >= 3, 60)
      assert.deepEqual([...new Set(seen)], ['2.0 /health health.test'])
      assert.equal(await status(), 200)
      await until('good checks', () => count('healthy') >= 3, 60)
      assert.ok(!(count('unhealthy') > 0))
      isWell = false
      await until('bad checks', () => count('unhealthy') >= 3, 60)
    })

    it('is checked over HTTP/1.1 on a separate port', async () => {
      const seen: string[] = []
      const handler = (request: IncomingMessage, response: ServerResponse) => {
        seen.push(`${request.httpVersion} ${request.url}`)
        response.end('ok')
      }
      const checked = pair === undefined ? createHttp1(handler) : createHttps(pair, handler)
      const port = await listen(checked)
      opened.push(() => {
        checked.closeAllConnections()
        checked.close()
      })
      const backend = await serve((_, response) => void response.end('ok'))
      const { status } = await start(`127.0.0.1:${backend.port}`, {
        healthCheck: { http: { path: '/health' }, port, interval: '100ms', unhealthyThreshold: 1 },
      })
      await until('three checks', () => seen.length >= 3, 60)
      assert.deepEqual([...new Set(seen)], ['1.1 /health'])
      assert.equal(await status(), 200)
    })

    it('gets at most as many requests per connection as configured, and none is lost', async () => {
      const backend = await serve((_, response) => void response.end('ok'))
      const { status } = await start(`127.0.0.1:${backend.port}`, {
        connectionLimits: { maxRequestsPerConnection: 3 },
      })
      for (let i = 0; i < 9; i++) assert.equal(await status(), 200)
      assert.equal(backend.all.length, 3)
      const together = await Promise.all(Array.from({ length: 30 }, () => status()))
      assert.deepEqual([...new Set(together)], [200])
      assert.ok(backend.all.length >= 13, `${backend.all.length} connections`)
      await until('their end', () => backend.sessions.size <= 1, 60)
    })

    it('is disconnected after the idle timeout', async () => {
      const backend = await serve((_, response) => void response.end('ok'))
      const { status } = await start(`127.0.0.1:${backend.port}`, {
        connectionLimits: { idleTimeout: '1s' },
      })
      assert.equal(await status(), 200)
      assert.equal(backend.sessions.size, 1)
      await hasten(until('its end', () => backend.sessions.size === 0, 60))
    })

    it('is disconnected after the max age of a connection, and no request is lost', async () => {
      const backend = await serve((_, response) => void setTimeout(() => response.end('ok'), 20))
      const { status } = await start(`127.0.0.1:${backend.port}`, {
        connectionLimits: { maxAge: '500ms' },
      })
      const seen = new Set<number>()
      const work = async () => {
        while (backend.all.length < 4) seen.add(await status())
      }
      await hasten(Promise.all([work(), work(), work()]), 50)
      assert.deepEqual([...seen], [200])
      await hasten(until('the end of the old ones', () => backend.sessions.size <= 1, 60))
    })

    it('is a 504 if its preface does not arrive in time', async () => {
      const sockets = new Set<Socket>()
      const silent = createTcp((socket) => {
        sockets.add(socket)
        socket.on('error', () => {})
      })
      const port = await listen(silent)
      opened.push(() => {
        for (const socket of sockets) socket.destroy()
        silent.close()
      })
      const { status } = await start(`127.0.0.1:${port}`, { tcp: { connectTimeout: '300ms' } })
      assert.equal(await status(), 504)
      await until('the end of the connection', () => [...sockets].every(isEnded), 60)
    })

    it('is followed when its address changes', async () => {
      const names = await serveNames((_, family) =>
        family === 4 ? { addresses: [address], ttl: 1 } : 'no-name',
      )
      opened.push(() => names.close())
      let address = '127.0.0.1'
      const first = await serve((_, response) => void response.end('first'))
      await serve((_, response) => void response.end('second'), '127.0.0.2', first.port)
      const dns = { servers: [names.address], lookupFamily: 'V4Only' }
      const { text } = await start(`moved.fault.test:${first.port}`, {}, { dns })
      assert.equal(await text(), 'first')
      address = '127.0.0.2'
      await until('the new address', async () => (await text()) === 'second', 60)
      await until('the end of the old connection', () => first.sessions.size === 0, 60)
    })

    it('sends GOAWAY after each request: none is lost', async () => {
      const backend = await serve((request, response) => {
        response.end('ok')
        request.stream.session?.close()
      })
      const { status } = await start(`127.0.0.1:${backend.port}`, {})
      const work = async () => {
        const seen: number[] = []
        for (let i = 0; i < 15; i++) seen.push(await status())
        return seen
      }
      // Sequentially, and concurrently on the same connections.
      const all = [await work(), ...(await Promise.all([work(), work(), work(), work()]))].flat()
      assert.deepEqual([...new Set(all)], [200])
      assert.ok(backend.all.length > 5, `${backend.all.length} connections`)
    })
  })
