import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  type ClientHttp2Session,
  connect as connectHttp2,
  createServer,
  type ServerHttp2Stream,
} from 'node:http2'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { limitHits } from '../../src/telemetry/definitions/limits.ts'
import { pass } from '../passing-time.ts'
import { free } from './accepting.ts'
import { listen, type RawUpstream, startUpstream } from './harness.ts'
import { END_STREAM, fieldBlock, frame, HEADERS, rawHttp2 } from './http2-gateway.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

/** Every configurable wait of the gateway in this file, in seconds. */
const LIMIT = 60
/** More than sockets buffer. */
const LARGE = Buffer.alloc(24_000_000, 'x')

const OK = 'HTTP/1.1 200 OK\r\n'
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`
const SWITCHING =
  'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n'

/** What a backend that speaks HTTP/1.1 sends before it stalls; `deaf` ones read no bodies. */
const HTTP1_SCRIPTS: Readonly<Record<string, string>> = {
  nothing: '',
  'half-a-head': `${OK}content-le`,
  interim: 'HTTP/1.1 103 Early Hints\r\n\r\n',
  head: `${OK}content-length: 9\r\n\r\n`,
  length: `${OK}content-length: 9\r\n\r\nabcd`,
  chunked: `${CHUNKED}4\r\nabcd\r\n`,
  'half-a-chunk': `${CHUNKED}9\r\nabcd`,
  'half-a-trailer': `${CHUNKED}4\r\nabcd\r\n0\r\nx-ho`,
  close: `${OK}\r\nabcd`,
  deaf: '',
  'deaf-in-response': `${CHUNKED}4\r\nabcd\r\n`,
  tunnel: SWITCHING,
  whole: `${OK}content-length: 4\r\n\r\nabcd`,
  large: `${OK}content-length: ${LARGE.length}\r\n\r\n`,
}

/** How a wait ended: what the access log says, and the limit that was counted. */
interface Row {
  readonly path: string
  readonly ends: readonly [status: number, reason: string, detail: string, limit: string]
  /** What the client sends; by default a GET. */
  readonly start?: (path: string) => void
}

const BACKEND = [504, 'upstream-timeout', 'timeout', 'backend-timeout'] as const
const IDLE = [200, 'upstream-timeout', 'response-idle-timeout', 'response-idle-timeout'] as const
const TUNNEL = [101, 'upstream-timeout', 'tunnel-idle-timeout', 'tunnel-idle-timeout'] as const

/** How often the limit was reached, on whichever listener. */
function hitsOf(gateway: WholeGateway, limit: string): number {
  const series = gateway
    .metrics()
    .split('\n')
    .filter((line) => line.startsWith(limitHits.name))
  const own = series.filter((line) => line.includes(`limit="${limit}"`))
  return own.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
}

describe('a client or a backend that stalls is noticed, whatever it was doing', () => {
  const open: { destroy(): void }[] = []
  let [http1, mute]: RawUpstream[] = []
  let http2: ReturnType<typeof createServer>
  let gateway: WholeGateway
  let port: number
  let session: ClientHttp2Session
  /** For a client that does not read. */
  let other: ClientHttp2Session

  /** A client of HTTP/1.1 that sends this, and nothing more. */
  const say = (text: string): Socket => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(text)
    open.push(socket)
    return socket
  }
  const get = (path: string) => void say(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).resume()
  const upgrade = (path: string) =>
    void say(
      `GET ${path} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
        'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
    ).resume()
  const upload = (path: string) => {
    const socket = say(
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: ${LARGE.length}\r\n\r\n`,
    )
    socket.resume()
    socket.write(LARGE)
  }
  /** A request over HTTP/2. */
  const ask = (
    path: string,
    more: Record<string, string> = {},
    endStream = true,
    over: ClientHttp2Session = session,
  ) => {
    const stream = over.request({ ':path': path, ...more }, { endStream })
    stream.on('error', () => {})
    return stream
  }
  const get2 = (path: string) => void ask(path).resume()
  const upload2 = (path: string) => {
    const stream = ask(path, { ':method': 'POST' }, false)
    stream.resume()
    // Node's client holds no more than 10 MB.
    stream.write(LARGE.subarray(0, 4_000_000))
  }
  const quiet2 = (path: string) => {
    const stream = ask(path, { ':method': 'POST' }, false)
    stream.resume()
    stream.write('a')
  }
  const tunnel2 = (path: string) =>
    void ask(path, { ':method': 'CONNECT', ':protocol': 'websocket' }, false).resume()

  const rows: readonly Row[] = [
    // The backend stalls, HTTP/1.1.
    ...['nothing', 'half-a-head', 'interim'].map((name) => ({
      path: `/h1/${name}`,
      ends: BACKEND,
    })),
    ...['head', 'length', 'chunked', 'half-a-chunk', 'half-a-trailer', 'close'].map((name) => ({
      path: `/h1/${name}`,
      ends: IDLE,
    })),
    { path: '/h1/deaf', start: upload, ends: BACKEND },
    { path: '/h1/deaf-in-response', start: upload, ends: IDLE },
    { path: '/h1/tunnel', start: upgrade, ends: TUNNEL },
    // The same for clients that speak HTTP/2.
    { path: '/h1/nothing/2', start: get2, ends: BACKEND },
    { path: '/h1/chunked/2', start: get2, ends: IDLE },
    { path: '/h1/tunnel/2', start: tunnel2, ends: TUNNEL },
    // The backend stalls, HTTP/2.
    { path: '/h2/nothing', ends: BACKEND },
    { path: '/h2/head', ends: IDLE },
    { path: '/h2/part', ends: IDLE },
    { path: '/h2/part/2', start: get2, ends: IDLE },
    { path: '/h2/deaf', start: upload2, ends: BACKEND },
    { path: '/h2/deaf-in-response', start: upload2, ends: IDLE },
    { path: '/h2/tunnel', start: upgrade, ends: TUNNEL },
    // Both sides of a bidirectional stream are silent.
    { path: '/h2/part/both', start: quiet2, ends: IDLE },
    // What policies hold back has no other limit.
    { path: '/held/length', ends: [504, ...IDLE.slice(1)] as never },
    // The client stalls.
    {
      path: '/h1/nothing/body',
      start: (path) =>
        void say(`POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nabcd`),
      ends: [408, 'body-timeout', 'body-timeout', 'body-timeout'],
    },
    {
      path: '/h2/nothing/body',
      start: (path) => void ask(path, { ':method': 'POST' }, false).write('abcd'),
      ends: [408, 'body-timeout', 'body-timeout', 'body-timeout'],
    },
    {
      path: '/h1/large',
      start: (path) => void say(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).pause(),
      ends: [200, 'client-gone', 'timeout', 'body-timeout'],
    },
    {
      path: '/h1/large/2',
      start: (path) => void ask(path, {}, true, other),
      ends: [200, 'client-gone', 'timeout', 'body-timeout'],
    },
  ]

  /** Clients without a request: nothing in the access log but a rejection, if anything. */
  const others: readonly { what: string; start: () => unknown; limit: string }[] = [
    { what: 'a connection without a byte', start: () => say(''), limit: 'header-timeout' },
    { what: 'half a head', start: () => say('GET / HTTP/1.1\r\nho'), limit: 'header-timeout' },
    { what: 'half a preface', start: () => say('PRI * HTTP/2.0\r\n\r\n'), limit: 'header-timeout' },
    {
      what: 'half a header block over HTTP/2',
      start: async () => {
        const socket = await rawHttp2(port)
        open.push(socket)
        socket.resume()
        socket.write(frame(HEADERS, END_STREAM, 1, fieldBlock([[':method', 'GET']])))
      },
      limit: 'header-timeout',
    },
    { what: 'an idle connection', start: () => get('/h1/whole'), limit: 'idle-timeout' },
    {
      what: 'an idle connection over HTTP/2',
      start: async () => {
        const socket = await rawHttp2(port)
        open.push(socket)
        socket.resume()
      },
      limit: 'idle-timeout',
    },
  ]

  before(async () => {
    http1 = await startUpstream((_, socket, all) => {
      const [, name = ''] = /^\w+ \/(?:h1|held)\/([\w-]+)/.exec(all) ?? []
      if (socket.bytesWritten > 0 || !all.includes('\r\n\r\n')) return
      socket.write(HTTP1_SCRIPTS[name] ?? assert.fail(name))
      if (name.startsWith('deaf')) socket.pause()
      if (name === 'large') socket.write(LARGE)
    })
    mute = await startUpstream(() => {})
    http2 = createServer({ settings: { enableConnectProtocol: true } })
    http2.on('stream', (stream: ServerHttp2Stream, headers) => {
      open.push(stream)
      stream.on('error', () => {})
      const [, name = ''] = /^\/h2\/([\w-]+)/.exec(String(headers[':path'])) ?? []
      if (!name.startsWith('deaf')) stream.resume()
      if (name === 'nothing' || name === 'deaf') return
      stream.respond({ ':status': 200 })
      if (name !== 'head' && name !== 'tunnel') stream.write('abcd')
    })
    const http2Port = await listen(http2)
    port = await free()
    const all = `policies: { timeout: { backendRequest: ${LIMIT}s, responseIdle: ${LIMIT}s }`
    const to = (own: number, more = '') => `backends: [{ host: 127.0.0.1:${own}${more} }]`
    const route = (name: string, rest: string) =>
      `- { name: ${name}, matches: [{ path: { pathPrefix: /${name} } }], ${rest} }`
    const version = ', policies: { http: { version: HTTP2 } }'
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
config: { backend: { connectTimeout: 400ms } }
frontendPolicies:
  http: { headTimeout: ${LIMIT - 5}s, bodyTimeout: ${LIMIT}s, http1IdleTimeout: ${LIMIT}s, http2KeepaliveInterval: 1h, http2ConnectionWindowSize: 64Mi }
routes:
${route('h1', `${all} }, ${to(http1.port)}`)}
${route('h2', `${all} }, ${to(http2Port, version)}`)}
${route('held', `${all}, transformations: { response: { body: 'string(response.body)' } } }, ${to(http1.port)}`)}
${route('tls-mute', to(mute.port, ', policies: { backendTLS: { insecure: true } }'))}
${route('h2-mute', to(mute.port, version))}
`)
    const connected = async () => {
      const own = connectHttp2(`http://127.0.0.1:${port}`)
      own.on('error', () => {})
      open.push(own)
      await once(own, 'remoteSettings')
      return own
    }
    session = await connected()
    other = await connected()
    for (const { path, start = get } of rows) start(path)
    for (const { start } of others) await start()
    const active = () => gateway.metric('portcullis_requests_active{listener="default/default"}')
    const isReady = () => active() === rows.length && gateway.lines.length === 1
    await until('all requests', isReady, 5).catch(() => {})
    assert.deepEqual([active(), gateway.lines.length], [rows.length, 1])
    get('/tls-mute')
    get('/h2-mute')
    await until('two of them', () => gateway.lines.length >= 2, 5)
  })

  after(async () => {
    for (const one of open) one.destroy()
    http1?.close()
    mute?.close()
    http2.close()
    await gateway.stop()
  })

  const lineOf = (path: string) => gateway.lines.find((line) => line['http.path'] === path)

  it('nobody is given up early', async () => {
    // First a moment in which the gateway sees what it waits for.
    pass(2_000)
    await wait(300)
    pass((LIMIT - 12) * 1_000)
    await wait(600)
    for (const { path } of rows) assert.equal(lineOf(path), undefined, path)
  })

  it('everybody is given up in time', async () => {
    pass(12_000)
    const missing = () => rows.filter(({ path }) => lineOf(path) === undefined)
    await until('the last of them', () => missing().length === 0, 3).catch(() => {})
    assert.deepEqual(
      missing().map(({ path }) => path),
      [],
    )
  })

  for (const { path, ends } of rows)
    it(`${path}: ${ends.slice(0, 3).join(' ')}`, () => {
      const line = lineOf(path)
      assert.deepEqual(
        [line?.['http.status'], line?.['reason'], line?.['detail']],
        ends.slice(0, 3),
      )
    })

  for (const path of ['/tls-mute', '/h2-mute'])
    it(`${path}: a connection to a backend that is never ready`, () => {
      const line = lineOf(path)
      assert.deepEqual(
        [line?.['http.status'], line?.['reason'], line?.['detail']],
        [504, 'upstream-connect', 'connect-timeout'],
      )
    })

  it('each is counted by its limit', async () => {
    // The connections of clients that got 504 early stayed idle.
    const early = [
      ['connect-timeout', 2],
      ['idle-timeout', 2],
    ] as const
    const expected = new Map<string, number>(early)
    for (const limit of [...rows.map(({ ends }) => ends[3]), ...others.map((one) => one.limit)])
      expected.set(limit, (expected.get(limit) ?? 0) + 1)
    const counted = () => [...expected].map(([limit]) => [limit, hitsOf(gateway, limit)] as const)
    await until('the counts', () => String(counted()) === String([...expected]), 3).catch(() => {})
    assert.deepEqual(Object.fromEntries(counted()), Object.fromEntries(expected))
  })
})

describe('a TCP connection without bytes', () => {
  it('ends after an hour', async () => {
    const backend = await startUpstream(() => {})
    const port = await free()
    const gateway = await startWhole(`gateways: { default: { port: ${port}, protocol: TCP } }
tcpRoutes: [{ backends: [{ host: 127.0.0.1:${backend.port} }] }]
`)
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    await until('the connection', () => backend.sockets.size === 1)
    pass(3_590_000)
    await wait(300)
    assert.equal(gateway.connections(), 1)
    pass(11_000)
    await until('its end', () => gateway.connections() === 0, 3)
    socket.destroy()
    backend.close()
    await gateway.stop()
  })
})
