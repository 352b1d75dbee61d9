import assert from 'node:assert/strict'
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  constants,
  createServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import { after, describe, it } from 'node:test'
import { free } from '../proxy/accepting.ts'
import { listen } from '../proxy/harness.ts'
import { startHttp2Gateway } from '../proxy/http2-gateway.ts'
import { askHttp2 } from '../proxy/http2-peers.ts'
import { startWhole, until } from '../proxy/whole-gateway.ts'

const { NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants

const opened: { close: () => unknown }[] = []
after(() => opened.forEach((own) => void own.close()))

/** Starts an HTTP/2 backend, a gateway for it, and one client connection to the gateway. */
async function through(
  serve: (stream: ServerHttp2Stream, path: string) => void,
  onSession: (session: ServerHttp2Session) => void = () => {},
) {
  const sessions = new Set<ServerHttp2Session>()
  const server = createServer()
  server.on('session', (session) => {
    sessions.add(session)
    session.on('error', () => {})
    onSession(session)
  })
  server.on('stream', (stream: ServerHttp2Stream, { ':path': path = '' }) => {
    stream.on('error', () => {})
    serve(stream, path)
  })
  const gateway = await startHttp2Gateway({ upstream: await listen(server), speaks: 'h2' })
  const client = connectHttp2(`http://127.0.0.1:${gateway.port}`)
  client.on('error', () => {})
  const close = () => {
    client.destroy()
    gateway.close()
    for (const session of sessions) session.destroy()
    server.close()
  }
  opened.push({ close })
  return { client, sessions, gateway }
}

const statusOf = (client: ClientHttp2Session, path: string, body: Buffer | undefined) =>
  askHttp2(client, { method: 'POST', path, ...(body === undefined ? {} : { body }) }).then(
    ({ status }) => status,
    () => 0,
  )

/** Streams of one connection that the backend processes before it sends GOAWAY. */
const LOOKED_AT = 7
/** Less than LOOKED_AT, so that the next connection has room for all unprocessed streams. */
const AT_ONCE = 4

describe('a backend that sends GOAWAY while requests arrive', () => {
  for (const [what, size] of [
    ['without a body', -1],
    ['with a short body, as gRPC has', 20],
    ['with a body of several pieces', 9_000],
  ] as const)
    for (const isGentle of [false, true])
      it(`${what}, ${isGentle ? 'two GOAWAY' : 'one GOAWAY'}: each request is served, and once`, async () => {
        const served = new Map<string, number>()
        const left = new WeakMap<ServerHttp2Session, number>()
        const last = new WeakMap<ServerHttp2Session, number>()
        const { client, sessions } = await through((stream, path) => {
          const session = stream.session as ServerHttp2Session
          const room = left.get(session) ?? LOOKED_AT
          left.set(session, room - 1)
          // RFC 9113 §6.8: streams after the last stream ID in the GOAWAY are not processed.
          if (room === 0) {
            if (isGentle) session.goaway(NGHTTP2_NO_ERROR, 0x7fffffff)
            session.goaway(NGHTTP2_NO_ERROR, last.get(session) ?? 0)
          }
          if (room <= 0) return
          last.set(session, stream.id ?? 0)
          const chunks: Buffer[] = []
          stream.on('data', (bytes: Buffer) => chunks.push(bytes))
          stream.on('end', () => {
            const body = Buffer.concat(chunks)
            const isRight = body.equals(size < 0 ? Buffer.alloc(0) : Buffer.alloc(size, path))
            served.set(path, (served.get(path) ?? 0) + (isRight ? 1 : 100))
            stream.respond({ ':status': 200 }, { endStream: true })
          })
        })
        const statuses: number[] = []
        let next = 0
        const work = async () => {
          while (next < 120) {
            const path = `/${next++}`
            const body = size < 0 ? undefined : Buffer.alloc(size, path)
            statuses.push(await statusOf(client, path, body))
          }
        }
        await Promise.all(Array.from({ length: AT_ONCE }, work))
        assert.deepEqual([...new Set(statuses)], [200])
        assert.deepEqual([served.size, ...new Set(served.values())], [120, 1])
        assert.ok(sessions.size > 10, `${sessions.size} connections`)
      })

  for (const size of [-1, 20])
    it(`what was looked at is never sent again, ${size < 0 ? 'without' : 'with'} a body`, async () => {
      const seen = new Map<string, number>()
      const { client } = await through((stream, path) => {
        seen.set(path, (seen.get(path) ?? 0) + 1)
        stream.session?.goaway(NGHTTP2_INTERNAL_ERROR, stream.id)
        setImmediate(() => stream.session?.destroy())
      })
      const body = size < 0 ? undefined : Buffer.alloc(size)
      for (let i = 0; i < 10; i++) assert.equal(await statusOf(client, `/${i}`, body), 502)
      assert.deepEqual([seen.size, ...new Set(seen.values())], [10, 1])
    })

  it('a body that is too long to be retained is not sent again in part', async () => {
    const seen: string[] = []
    const { client } = await through((stream, path) => {
      seen.push(path)
      let received = 0
      stream.on('data', (bytes: Buffer) => {
        received += bytes.length
        if (path === '/cut' && received > 40_000) stream.session?.goaway(NGHTTP2_NO_ERROR, 1)
      })
      stream.on('end', () => {
        if (path !== '/cut') stream.respond({ ':status': 200 }, { endStream: true })
      })
    })
    assert.equal(await statusOf(client, '/first', Buffer.alloc(10)), 200)
    assert.equal(await statusOf(client, '/cut', Buffer.alloc(60_000)), 502)
    assert.equal(await statusOf(client, '/next', Buffer.alloc(10)), 200)
    assert.deepEqual(seen, ['/first', '/cut', '/next'])
  })
})

it('connections that reach their max age are replaced, and no request is lost', async () => {
  const served = new Map<string, number>()
  const sessions = new Set<ServerHttp2Session>()
  const server = createServer()
  server.on('session', (session) => void sessions.add(session))
  server.on('stream', (stream: ServerHttp2Stream, { ':path': path = '' }) => {
    stream.resume()
    stream.on('error', () => {})
    stream.on('end', () => {
      served.set(path, (served.get(path) ?? 0) + 1)
      stream.respond({ ':status': 200 }, { endStream: true })
    })
  })
  const backend = await listen(server)
  const port = await free()
  const gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes:
- name: all
  backends:
  - host: 127.0.0.1:${backend}
    policies: { http: { version: HTTP2 }, connectionLimits: { maxAge: 1s } }
`)
  const client = connectHttp2(`http://127.0.0.1:${port}`)
  const statuses = new Set<number>()
  let sent = 0
  const work = async () => {
    const until = performance.now() + 60_000
    while (sessions.size < 3 && performance.now() < until)
      statuses.add(await statusOf(client, `/${sent++}`, Buffer.alloc(30)))
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  client.destroy()
  await gateway.stop()
  for (const session of sessions) session.destroy()
  server.close()
  assert.deepEqual([...statuses], [200])
  assert.deepEqual([served.size, ...new Set(served.values())], [sent, 1])
  assert.ok(sessions.size >= 3)
})

describe('aborted uploads', () => {
  const PIECE = 100_000
  /** The uploads together exceed all windows: aborted bytes must be returned to the windows. */
  const TIMES = 60

  it('by the client: the backend sees the reset, and both connections stay open', async () => {
    let aborted = 0
    const { client, sessions } = await through((stream, path) => {
      let received = 0
      stream.on('data', (bytes: Buffer) => {
        received += bytes.length
        if (path === '/cut' && received === PIECE) stream.additionalHeaders({ ':status': 103 })
      })
      stream.on('aborted', () => aborted++)
      stream.on('end', () => {
        if (path !== '/cut') stream.respond({ ':status': 200, 'x-received': received })
        stream.end()
      })
    })
    for (let i = 0; i < TIMES; i++) {
      const stream = client.request({ ':method': 'POST', ':path': '/cut', 'content-length': 1e6 })
      stream.on('error', () => {})
      stream.on('headers', () => stream.close(NGHTTP2_CANCEL))
      stream.write(Buffer.alloc(PIECE))
      await new Promise((done) => stream.on('close', done))
    }
    await until('all of them', () => aborted === TIMES)
    const { headers } = await askHttp2(client, { method: 'POST', body: Buffer.alloc(3_000_000) })
    assert.equal(headers['x-received'], '3000000')
    assert.equal(sessions.size, 1)
  })

  it('by the backend: the client sees the reset, and both connections stay open', async () => {
    const { client, sessions } = await through((stream, path) => {
      let received = 0
      stream.on('data', (bytes: Buffer) => {
        received += bytes.length
        if (path === '/cut' && received >= PIECE) stream.close(NGHTTP2_INTERNAL_ERROR)
      })
      stream.on('end', () => {
        if (!stream.destroyed) stream.respond({ ':status': 200, 'x-received': received })
        stream.end()
      })
    })
    for (let i = 0; i < TIMES; i++)
      assert.equal(await statusOf(client, '/cut', Buffer.alloc(3 * PIECE)), 502)
    const { headers } = await askHttp2(client, { method: 'POST', body: Buffer.alloc(3_000_000) })
    assert.equal(headers['x-received'], '3000000')
    assert.equal(sessions.size, 1)
  })
})
