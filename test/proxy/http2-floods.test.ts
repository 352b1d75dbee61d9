import assert from 'node:assert/strict'
import { connect } from 'node:http2'
import { after, before, describe, it } from 'node:test'
import { free } from './accepting.ts'
import { CONNECTION_ERRORS, FLOODS, times } from './http2-flood-frames.ts'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  rawHttp2,
  startHttp2Gateway,
} from './http2-gateway.ts'
import { askHttp2, startPeer } from './http2-peers.ts'
import { startWhole, until, type WholeGateway } from './whole-gateway.ts'

describe('HTTP/2 floods: each has a limit, a metric and a log record', () => {
  let gateway: WholeGateway
  let port = 0
  let close = () => {}

  before(async () => {
    const peer = await startPeer('h1', (request, response) => {
      request.on('error', () => {})
      if (request.url !== '/held') response.end('hello')
    })
    close = () => void peer.close()
    port = await free()
    gateway = await startWhole(`gateways: { default: { port: ${port} } }
routes: [{ name: all, backends: [{ host: '127.0.0.1:${peer.port}' }] }]
`)
  })
  after(async () => {
    await gateway.stop()
    close()
  })

  const count = (kind: string) =>
    gateway.metric(`portcullis_http2_floods_total{listener="default/default",kind="${kind}"}`)
  const hits = (limit: string) =>
    gateway.metric(`portcullis_limit_hits_total{listener="default/default",limit="${limit}"}`)

  for (const [name, kind, limit, bytes] of FLOODS) {
    it(`${name}: ${kind}`, async () => {
      const good = connect(`http://127.0.0.1:${port}`)
      good.on('error', () => {})
      assert.equal((await askHttp2(good, {})).status, 200)
      const [before, hitsBefore] = [count(kind), hits(limit)]
      gateway.lines.length = 0
      const socket = await rawHttp2(port)
      socket.resume()
      socket.write(bytes)
      await until('the flood', () => count(kind) === before + 1)
      await until('its end', () => socket.closed)
      assert.equal(hits(limit), hitsBefore + 1)
      // At most one record of each kind per second.
      const record = gateway.lines.find(({ error }) => error === 'flood')
      if (before === 0) {
        assert.deepEqual(
          [record?.['kind'], record?.['listener'], record?.['count']],
          [kind, 'default/default', 1],
        )
        assert.match(String(record?.['src.addr']), /^127\.0\.0\.1:\d+$/)
      }
      assert.equal((await askHttp2(good, {})).status, 200)
      good.destroy()
    })
  }

  for (const [name, code, number, bytes] of CONNECTION_ERRORS) {
    it(`an error of the connection, ${name}: ${code}`, async () => {
      const series = `portcullis_http2_errors_total{listener="default/default",code="${code}"}`
      const before = gateway.metric(series)
      gateway.lines.length = 0
      const socket = await rawHttp2(port)
      const received: Buffer[] = []
      socket.on('data', (chunk: Buffer) => received.push(chunk))
      socket.write(bytes)
      await until('its end', () => socket.closed)
      assert.equal(gateway.metric(series), before + 1)
      const record = gateway.lines.find(({ error }) => error === 'connection-error')
      assert.deepEqual(
        [record?.['code'], record?.['listener'], record?.['count']],
        [code, 'default/default', 1],
      )
      assert.match(String(record?.['src.addr']), /^127\.0\.0\.1:\d+$/)
      // GOAWAY is the last frame, and ends with its error code.
      assert.equal(Buffer.concat(received).readUInt32BE(Buffer.concat(received).length - 4), number)
    })
  }
})

describe('a client that sends requests and reads nothing', () => {
  const opened: { close: () => unknown }[] = []
  after(() => opened.forEach((own) => void own.close()))
  const GET = (path: string) =>
    fieldBlock([
      [':method', 'GET'],
      [':scheme', 'http'],
      [':authority', 'x'],
      [':path', path],
    ])

  async function start(limits: object) {
    const peer = await startPeer('h1', (_, response) => {
      response.setHeader('x-long', 'v'.repeat(25_000))
      response.end()
    })
    const gateway = await startHttp2Gateway({ upstream: peer.port, speaks: 'h1', limits })
    opened.push(gateway, peer)
    const socket = await rawHttp2(gateway.port)
    socket.pause()
    return { gateway, socket }
  }

  /** Sends 50 requests at a time until the gateway stops reading; returns how many it sent. */
  async function crowd({ gateway, socket }: Awaited<ReturnType<typeof start>>): Promise<number> {
    const isCrowded = () => [...gateway.sessions].some(({ socket: own }) => own.isPaused())
    const head = GET('/')
    let sent = 0
    while (!isCrowded()) {
      assert.ok(sent < 5_000, 'it reads on and on')
      const first = sent
      const ends = END_HEADERS | END_STREAM
      socket.write(times(50, (i) => frame(HEADERS, ends, 2 * (first + i) + 1, head)))
      sent += 50
      await until('responses', () => gateway.runs.length === sent || isCrowded())
    }
    return sent
  }

  it('is no longer read, holds little memory, and is disconnected', async () => {
    const given = await start({ writeTimeout: 1_000 })
    await crowd(given)
    const { gateway, socket } = given
    // The gateway reads nothing that the client sends from now on.
    const runs = gateway.runs.length
    socket.write(times(50, (i) => frame(HEADERS, END_HEADERS, 20_001 + 2 * i, GET('/late'))))
    for (const { socket: own } of gateway.sessions) assert.ok(own.writableLength < 3_000_000)
    await until('its end', () => gateway.counts.get('too-much-unread') === 1)
    assert.ok(gateway.runs.length <= runs + 50)
    await until('the end of the session', () => gateway.sessions.size === 0)
    socket.destroy()
  })

  it('is served once it reads', async () => {
    const given = await start({})
    const sent = await crowd(given)
    let ends = 0
    let held = Buffer.alloc(0)
    given.socket.on('data', (bytes: Buffer) => {
      held = Buffer.concat([held, bytes])
      let at = 0
      while (held.length >= at + 9 && held.length >= at + 9 + held.readUIntBE(at, 3)) {
        const [type, flags = 0] = [held[at + 3], held[at + 4]]
        if ((type === HEADERS || type === DATA) && (flags & END_STREAM) > 0) ends++
        at += 9 + held.readUIntBE(at, 3)
      }
      held = held.subarray(at)
    })
    given.socket.resume()
    await until('all responses', () => ends === sent)
    given.socket.destroy()
  })
})
