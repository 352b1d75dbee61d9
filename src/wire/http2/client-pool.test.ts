import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  constants,
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type SessionOptions,
} from 'node:http2'
import { type AddressInfo, connect } from 'node:net'
import { after, describe, it, type TestContext } from 'node:test'
import { connect as connectTls } from 'node:tls'
import { makeAuthority, WITHOUT_OPENSSL } from '../../../test/tls/certificates.ts'
import { eventually } from '../../upstream/fixtures/servers.ts'
import { Deadlines } from '../deadlines.ts'
import { fieldName, fieldValue } from '../http1/fields.ts'
import type { ResponseEvents, UpstreamConnection } from '../upstream-connection.ts'
import { Http2Pool, type Http2PoolOptions, type OpenSocket } from './client-pool.ts'

const opened: { close: () => unknown }[] = []
after(() => opened.forEach((own) => void own.close()))

type OnStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void

async function serve(onStream: OnStream, options: SessionOptions = {}) {
  const server = createServer(options)
  const sessions: ServerHttp2Session[] = []
  server.on('session', (session) => void sessions.push(session))
  server.on('sessionError', () => {})
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {})
    onStream(stream, headers)
  })
  return { port: await portOf(server), sessions }
}

async function portOf(server: Http2Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push(server)
  return (server.address() as AddressInfo).port
}

const dial =
  (port: number): OpenSocket =>
  (events) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    socket.once('error', () => events.failed('connect-refused', ''))
    socket.once('connect', () => {
      socket.removeAllListeners('error')
      events.opened(socket, '')
    })
    return { cancel: () => socket.destroy() }
  }

function poolTo(port: number, options: Partial<Http2PoolOptions> = {}, open = dial(port)) {
  const pool = new Http2Pool(open, options, new Deadlines(20))
  opened.push(pool)
  return pool
}

const GET = 'GET /a HTTP/1.1\r\nhost: x\r\n\r\n'

interface Asked {
  readonly reported: string[]
  readonly over: Promise<void>
  connection: UpstreamConnection | undefined
}

/** Requests a stream, sends the head, and records all events. */
function ask(pool: Http2Pool, head = GET, bodies?: readonly string[], timeout = 5_000): Asked {
  const reported: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const events: ResponseEvents = {
    idleTimeout: 5_000,
    interim: ({ status }) => void reported.push(`interim ${status}`),
    response: ({ status, framing }) => {
      reported.push(`${status} ${framing}`)
      return false
    },
    data: (bytes) => {
      reported.push(`data ${bytes}`)
      return true
    },
    ended: (trailers) => {
      const fields = Array.from(
        { length: trailers?.count ?? 0 },
        (_, i) => ` ${fieldName(trailers as never, i)}=${fieldValue(trailers as never, i)}`,
      )
      reported.push(`ended${fields.join('')}`)
      resolve()
    },
    failed: (reason, isUntouched) => {
      reported.push(`failed ${reason}${isUntouched ? ' untouched' : ''}`)
      resolve()
    },
    drained: () => {},
  }
  const asked: Asked = { reported, over: promise, connection: undefined }
  const connected = (connection: UpstreamConnection) => {
    asked.connection = connection
    const method = head.slice(0, head.indexOf(' '))
    connection.send(method, head, bodies !== undefined, timeout, events)
    for (const body of bodies ?? []) connection.writeText(body)
    if (bodies !== undefined) connection.end()
  }
  const unconnected = (reason: string) => {
    reported.push(`unconnected ${reason}`)
    resolve()
  }
  const free = pool.take()
  if (free !== undefined) connected(free)
  else pool.request({ connected, unconnected })
  return asked
}

async function reportedBy(onStream: OnStream, head?: string, bodies?: readonly string[]) {
  const { port } = await serve(onStream)
  const asked = ask(poolTo(port), head, bodies)
  await asked.over
  return asked.reported
}

describe('responses', () => {
  for (const [name, onStream, reported] of [
    [
      'a response with a length',
      (stream) => {
        stream.respond({ ':status': 200, 'content-length': '2' })
        stream.end('ok')
      },
      ['200 length', 'data ok', 'ended'],
    ],
    [
      'a response that is its trailers alone, as gRPC has it',
      (stream) => stream.respond({ ':status': 200, 'grpc-status': '5' }, { endStream: true }),
      ['200 close', 'ended'],
    ],
    [
      'a response with trailers',
      (stream) => {
        stream.respond({ ':status': 200 }, { waitForTrailers: true })
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
        stream.end('message')
      },
      ['200 close', 'data message', 'ended grpc-status=0'],
    ],
    [
      'interim responses',
      (stream) => {
        stream.additionalHeaders({ ':status': 103, link: '</a>' })
        stream.respond({ ':status': 204 }, { endStream: true })
      },
      ['interim 103', '204 none', 'ended'],
    ],
    [
      'a stream that is refused was not looked at',
      (stream) => stream.close(constants.NGHTTP2_REFUSED_STREAM),
      ['failed refused-stream untouched'],
    ],
    [
      'a stream that is reset may have been',
      (stream) => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
      ['failed reset'],
    ],
    [
      'a connection that breaks before anything came',
      (stream) => stream.session?.socket.destroy(),
      ['failed reset untouched'],
    ],
    [
      'less than the length',
      (stream) => {
        stream.respond({ ':status': 200, 'content-length': '5' })
        stream.end('ok')
      },
      ['200 length', 'data ok', 'failed truncated-body'],
    ],
  ] as const satisfies readonly (readonly [string, OnStream, readonly string[]])[]) {
    it(name, async () => assert.deepEqual(await reportedBy(onStream), reported))
  }

  it('times out without a response', async () => {
    const { port } = await serve(() => {})
    const asked = ask(poolTo(port), GET, undefined, 100)
    await asked.over
    assert.deepEqual(asked.reported, ['failed timeout'])
  })
})

describe('requests', () => {
  it('a chunked body loses its framing, however it is split, and keeps its trailers', async () => {
    let seen = ''
    const head =
      'POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: te\r\nte: trailers\r\n\r\n'
    const reported = await reportedBy(
      (stream, headers) => {
        stream.on('data', (bytes) => {
          seen += bytes
        })
        stream.on('trailers', (trailers) => {
          seen += ` ${trailers['x-after']}`
        })
        stream.on('end', () => {
          seen += ` ${headers.te} ${headers['transfer-encoding']}`
          stream.respond({ ':status': 200 }, { endStream: true })
        })
      },
      head,
      ['5\r\nhel', 'lo', '\r\n1', '\r\n!\r\n0\r\n', 'x-after: 7\r\n\r\n'],
    )
    assert.deepEqual(reported, ['200 close', 'ended'])
    assert.equal(seen, 'hello! 7 trailers undefined')
  })

  it('a response before the end of the request ends both', async () => {
    const { port } = await serve((stream) => {
      stream.respond({ ':status': 413, 'content-length': '0' }, { endStream: true })
    })
    const head = 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n'
    const pool = poolTo(port)
    const reported: string[] = []
    pool.request({
      unconnected: () => {},
      connected: (connection) => {
        connection.send('POST', head, true, 1_000, {
          idleTimeout: 1_000,
          interim: () => {},
          response: ({ status }) => {
            reported.push(String(status))
            return false
          },
          data: () => true,
          ended: () => void reported.push('ended'),
          failed: (reason) => void reported.push(reason),
          drained: () => {},
        })
        connection.writeText('part')
      },
    })
    assert.ok(await eventually(() => reported.length >= 2))
    assert.deepEqual(reported, ['413', 'ended'])
    assert.deepEqual((await finished(ask(pool))).reported, ['413 none', 'ended'])
  })
})

/** Lets more time pass than any timeout. */
function jump(t: TestContext): void {
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + 3_600_000)
}

function hasRoom(pool: Http2Pool): boolean {
  const stream = pool.take()
  stream?.release()
  return stream !== undefined
}

const finished = async (asked: Asked) => {
  await asked.over
  return asked
}

describe('connections', () => {
  it('one carries as many requests as the upstream allows; more wait or open another', async () => {
    const held: ServerHttp2Stream[] = []
    const { port, sessions } = await serve((stream) => void held.push(stream), {
      settings: { maxConcurrentStreams: 3 },
    })
    const pool = poolTo(port, { max: 2 })
    const all = Array.from({ length: 8 }, () => ask(pool))
    assert.ok(await eventually(() => held.length === 6))
    assert.equal(sessions.length, 2)
    assert.equal(pool.waiting, 2)
    for (let i = 0; i < 8; i++) {
      assert.ok(await eventually(() => held.length > i))
      held[i]?.respond({ ':status': 200 }, { endStream: true })
    }
    await Promise.all(all.map(({ over }) => over))
    assert.deepEqual([...new Set(all.flatMap(({ reported }) => reported))], ['200 close', 'ended'])
  })

  it('after GOAWAY, active requests finish, and new ones use another', async () => {
    const held: ServerHttp2Stream[] = []
    const { port, sessions } = await serve((stream) => void held.push(stream))
    const pool = poolTo(port)
    const first = ask(pool)
    assert.ok(await eventually(() => held.length === 1))
    sessions[0]?.close()
    // Until the client has read it.
    assert.ok(await eventually(() => !hasRoom(pool)))
    const second = ask(pool)
    assert.ok(await eventually(() => held.length === 2))
    for (const stream of held) stream.respond({ ':status': 200 }, { endStream: true })
    await Promise.all([first.over, second.over])
    assert.deepEqual(
      [...first.reported, ...second.reported],
      ['200 close', 'ended', '200 close', 'ended'],
    )
    assert.equal(sessions.length, 2)
  })

  it('streams after the last one in GOAWAY are reported as not processed', async () => {
    const held: ServerHttp2Stream[] = []
    const { port } = await serve((stream) => {
      held.push(stream)
      if (stream.id === 3) stream.session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 1)
    })
    const pool = poolTo(port)
    const first = ask(pool)
    assert.ok(await eventually(() => held.length === 1))
    const second = ask(pool)
    await second.over
    assert.deepEqual(second.reported, ['failed goaway untouched'])
    // A processed stream runs to its end, whatever made the upstream send GOAWAY.
    held[0]?.respond({ ':status': 200 }, { endStream: true })
    await first.over
    assert.deepEqual(first.reported, ['200 close', 'ended'])
  })

  it('report a refused connection', async () => {
    const { port } = await serve(() => {})
    const asked = ask(poolTo(port, {}, (events) => dial(1)(events)))
    await asked.over
    assert.deepEqual(asked.reported, ['unconnected connect-refused'])
  })

  it('report that TLS negotiated another protocol', async () => {
    const { port } = await serve(() => {})
    const open: OpenSocket = (events) =>
      dial(port)({ ...events, opened: (socket) => events.opened(socket, 'http/1.1') })
    const asked = ask(poolTo(port, {}, open))
    await asked.over
    assert.deepEqual(asked.reported, ['unconnected alpn'])
  })

  it('report waiting too long, or in a full queue', async (t) => {
    const { port } = await serve(() => {}, { settings: { maxConcurrentStreams: 1 } })
    const pool = poolTo(port, { max: 1, maxPending: 1 })
    const first = ask(pool)
    assert.ok(await eventually(() => first.connection !== undefined))
    const waiting = ask(pool)
    const rejected = ask(pool)
    jump(t)
    await Promise.all([waiting.over, rejected.over])
    assert.deepEqual(waiting.reported, ['unconnected pending-timeout'])
    assert.deepEqual(rejected.reported, ['unconnected overloaded'])
  })

  it('an idle connection closes, and an aborted request frees its stream', async (t) => {
    const { port, sessions } = await serve(() => {}, { settings: { maxConcurrentStreams: 1 } })
    const pool = poolTo(port)
    const asked = ask(pool)
    assert.ok(await eventually(() => asked.connection !== undefined))
    asked.connection?.abort()
    assert.notEqual(pool.take(), undefined)
    const closing = once(sessions[0] as ServerHttp2Session, 'close')
    const idle = poolTo(port)
    idle.request({ connected: (stream) => stream.release(), unconnected: () => {} })
    assert.ok(await eventually(() => idle.open === 1 && sessions.length === 2))
    const closed = once(sessions[1] as ServerHttp2Session, 'close')
    jump(t)
    await closed
    sessions[0]?.destroy()
    await closing
  })

  it('work over TLS', { skip: WITHOUT_OPENSSL }, async () => {
    const authority = makeAuthority('test')
    const { cert, key } = authority.issue({ names: ['DNS:localhost'] })
    const server = createSecureServer({ cert, key })
    server.on('stream', (stream: ServerHttp2Stream, headers) => {
      stream.respond({ ':status': 200 })
      stream.end(String(headers[':scheme']))
    })
    const port = await portOf(server as unknown as Http2Server)
    const open: OpenSocket = (events) => {
      const socket = connectTls({
        port,
        host: '127.0.0.1',
        servername: 'localhost',
        ca: authority.cert,
        ALPNProtocols: ['h2'],
      })
      socket.once('secureConnect', () => events.opened(socket, socket.alpnProtocol || ''))
      socket.once('error', (error) => events.failed('tls', String(error)))
      return { cancel: () => socket.destroy() }
    }
    const asked = ask(poolTo(port, {}, open))
    await asked.over
    assert.deepEqual(asked.reported, ['200 close', 'data https', 'ended'])
  })
})
