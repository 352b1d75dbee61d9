import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { connect as connectTcp } from 'node:net'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { hasten } from '../passing-time.ts'
import { framesOf } from './http2-frames.ts'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  type Http2Gateway,
  type Http2GatewayOptions,
  RST_STREAM,
  rawHttp2,
  startHttp2Gateway,
} from './http2-gateway.ts'
import { askHttp2, startPeer } from './http2-peers.ts'
import { until } from './whole-gateway.ts'

const opened: { close: () => unknown }[] = []
after(() => opened.forEach((own) => void own.close()))

async function start(limits: Http2GatewayOptions['limits'] = {}, body = 'hello') {
  const seen: string[] = []
  const peer = await startPeer('h1', (request, response) => {
    // The gateway itself sets the ID; all other headers come from the client.
    const { 'x-request-id': _, ...headers } = request.headers
    seen.push(`${request.method} ${request.url} ${JSON.stringify(headers)}`)
    request.on('error', () => {})
    request.resume()
    if (body !== '') response.end(body)
  })
  const gateway = await startHttp2Gateway({ upstream: peer.port, speaks: 'h1', limits })
  opened.push(gateway, peer)
  return { gateway, seen }
}

function sessionTo(gateway: Http2Gateway): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${gateway.port}`)
  session.on('error', () => {})
  opened.push({ close: () => session.destroy() })
  return session
}

const HEAD = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':authority', 'x'],
  [':path', '/'],
] as const

const SETTINGS = 4
const PING = 6
const WINDOW_UPDATE = 8
const PRIORITY = 2
const PRIORITY_UPDATE = 16
const UNKNOWN = 0x2a

const CALM = `goaway ${constants.NGHTTP2_ENHANCE_YOUR_CALM}`

describe('floods end the connection, and do not affect other clients', () => {
  for (const [name, count, limits, make] of [
    [
      'too-many-resets',
      400,
      { resets: { perSecond: 10, burst: 50 } },
      (i: number) =>
        Buffer.concat([
          frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, fieldBlock(HEAD)),
          frame(RST_STREAM, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8])),
        ]),
    ],
    ['too-many-pings', 1_000, {}, () => frame(PING, 0, 0, Buffer.alloc(8))],
    ['too-many-settings', 1_000, {}, () => frame(SETTINGS, 0, 0, Buffer.alloc(0))],
    ['too-many-priorities', 1_000, {}, () => frame(PRIORITY, 0, 5, Buffer.from([0, 0, 0, 3, 1]))],
    [
      'too-many-priorities',
      1_000,
      {},
      () => frame(PRIORITY_UPDATE, 0, 0, Buffer.from('\0\0\0\x05')),
    ],
    [
      'too-much-overhead',
      3_000,
      { overhead: { perSecond: 1_000, burst: 10_000 } },
      () => frame(UNKNOWN, 0, 0, Buffer.alloc(4)),
    ],
    [
      'too-many-window-updates',
      3_000,
      { overhead: { perSecond: 1_000, burst: 10_000 } },
      () => frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 1])),
    ],
  ] as const) {
    it(`${count} frames: ${name}`, async () => {
      const { gateway } = await start(limits, '')
      const other = sessionTo(gateway)
      await once(other, 'remoteSettings')
      const socket = await rawHttp2(gateway.port)
      const frames = framesOf(socket)
      for (let i = 0; i < count && !socket.destroyed; i++) {
        socket.write(make(i))
        if (i % 100 === 0) await wait(1)
      }
      // If the gateway has not read everything in flight, the TCP reset overtakes the GOAWAY.
      const goodbyes = (await frames).filter((one) => one.startsWith('goaway'))
      assert.deepEqual([...new Set(goodbyes)], goodbyes.length === 0 ? [] : [CALM])
      assert.equal(gateway.counts.get(name), 1)
      await until('its end', () => gateway.sessions.size === 1)
      assert.equal(other.destroyed, false)
    })
  }

  for (const [name, make] of [
    [
      'too-many-resets',
      (i: number) =>
        Buffer.concat([
          frame(HEADERS, END_HEADERS | END_STREAM, 2 * i + 1, fieldBlock(HEAD)),
          frame(RST_STREAM, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8])),
        ]),
    ],
    ['too-many-pings', () => frame(PING, 0, 0, Buffer.alloc(8))],
    ['too-many-settings', () => frame(SETTINGS, 0, 0, Buffer.alloc(0))],
  ] as const) {
    it(`frames as fast as they can be sent: ${name} is counted, whoever noticed it`, async () => {
      const { gateway } = await start({}, '')
      const socket = await rawHttp2(gateway.port)
      const frames = framesOf(socket)
      socket.write(Buffer.concat(Array.from({ length: 20_000 }, (_, i) => make(i))))
      await frames
      assert.equal(gateway.counts.get(name), 1)
      await until('its end', () => gateway.sessions.size === 0)
    })
  }

  it('empty DATA frames', async () => {
    const { gateway } = await start({}, '')
    const socket = await rawHttp2(gateway.port)
    const frames = framesOf(socket)
    const post = [[':method', 'POST'] as const, ...HEAD.slice(1)]
    socket.write(frame(HEADERS, END_HEADERS, 1, fieldBlock(post)))
    for (let i = 0; i < 500; i++) socket.write(frame(DATA, 0, 1, Buffer.alloc(0)))
    assert.match(String(await frames), /goaway/)
    await until('its end', () => gateway.sessions.size === 0)
  })

  it('bodies of one byte per frame are not a flood', async () => {
    const peer = await startPeer('h1', (request, response) => request.pipe(response))
    const gateway = await startHttp2Gateway({
      upstream: peer.port,
      speaks: 'h1',
      limits: { overhead: { perSecond: 1_000, burst: 10_000 } },
    })
    opened.push(gateway, peer)
    const session = sessionTo(gateway)
    const stream = session.request({ ':path': '/', ':method': 'POST' })
    const response = once(stream, 'response')
    for (let i = 0; i < 3_000; i++) {
      stream.write('x')
      if (i % 300 === 0) await wait(100)
    }
    stream.end()
    const [headers] = await response
    assert.equal(headers[':status'], 200)
    await once(stream.resume(), 'end')
    assert.equal(session.destroyed, false)
  })
})

describe('limits of one connection', () => {
  it('streams above the limit are rejected, and can be retried', async () => {
    const { gateway } = await start({ streams: 2 }, '')
    const socket = await rawHttp2(gateway.port)
    const frames = framesOf(socket, (all) => all.length === 2)
    for (const id of [1, 3, 5, 7])
      socket.write(frame(HEADERS, END_HEADERS | END_STREAM, id, fieldBlock(HEAD)))
    const rejected = `reset ${constants.NGHTTP2_REFUSED_STREAM}`
    assert.equal((await frames).filter((one) => one === rejected).length, 2)
  })

  for (const [name, fields, status] of [
    ['many fields', 101, 431],
    ['as many fields as there may be', 90, 200],
  ] as const) {
    it(`${name}: ${status}`, async () => {
      const { gateway } = await start()
      const list = Array.from({ length: fields }, (_, i) => [`x-${i}`, 'v'] as const)
      const response = await askHttp2(sessionTo(gateway), { headers: Object.fromEntries(list) })
      assert.equal(response.status, status)
    })
  }

  it('a head that is too long: 431, and the connection stays open', async () => {
    const { gateway } = await start({ head: 4_096 })
    const session = sessionTo(gateway)
    for (const length of [4_200, 40_000]) {
      const long = await askHttp2(session, { headers: { 'x-long': 'v'.repeat(length) } })
      assert.equal(long.status, 431)
    }
    assert.equal((await askHttp2(session, {})).status, 200)
  })

  it('a connection without requests is closed', async () => {
    const { gateway } = await start({ idle: 200 })
    const session = sessionTo(gateway)
    await askHttp2(session, {})
    await hasten(once(session, 'close'))
    assert.ok((gateway.counts.get('idle') ?? 0) > 0)
  })

  it('a connection without its preface is closed', async () => {
    const { gateway } = await start({ headTimeout: 300 })
    const socket = connectTcp(gateway.port, '127.0.0.1')
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.resume()
    await hasten(once(socket, 'close'))
    assert.equal(gateway.counts.get('no-preface'), 1)
  })

  it('an incomplete head ends the connection', async () => {
    const { gateway } = await start({ headTimeout: 300 }, '')
    const socket = await rawHttp2(gateway.port)
    socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, fieldBlock(HEAD)))
    socket.write(frame(HEADERS, END_STREAM, 3, fieldBlock(HEAD)))
    socket.resume()
    await hasten(once(socket, 'close'))
    assert.equal(gateway.counts.get('no-preface'), 1)
  })

  it('a client that no longer responds is disconnected', async () => {
    const { gateway } = await start({ pingInterval: 300, pingTimeout: 500 }, '')
    const socket = await rawHttp2(gateway.port)
    socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, fieldBlock(HEAD)))
    socket.resume()
    await hasten(once(socket, 'close'))
    assert.equal(gateway.counts.get('ping-timeout'), 1)
    assert.equal(gateway.runs[0]?.exchange.reason, 'client-gone')
  })

  it('a client that is silent but alive is kept', async () => {
    const { gateway } = await start({ pingInterval: 300, pingTimeout: 500 }, '')
    const session = sessionTo(gateway)
    let pings = 0
    session.on('ping', () => pings++)
    session.request({ ':path': '/' }).on('error', () => {})
    for (let round = 1; round <= 4; round++) {
      await hasten(
        until('a ping', () => pings === round),
        100,
      )
      // Until the gateway has read the response.
      await wait(50)
    }
    assert.equal(session.destroyed, false)
  })

  it('a body that does not arrive: 408, the stream ends, the connection stays open', async () => {
    const { gateway } = await start({ bodyTimeout: 200 }, '')
    const session = sessionTo(gateway)
    const stream = session.request({ ':path': '/', ':method': 'POST' })
    stream.on('error', () => {})
    stream.write('part')
    const [headers] = await hasten(once(stream, 'response'))
    assert.equal(headers[':status'], 408)
    stream.resume()
    await once(stream, 'close')
    assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR)
    assert.equal(session.destroyed, false)
  })
})

describe('input that must not reach an HTTP/1.1 upstream', () => {
  const base = (path = '/', method = 'GET') =>
    [
      [':method', method],
      [':scheme', 'http'],
      [':authority', 'x'],
      [':path', path],
    ] as readonly (readonly [string, string])[]
  for (const [name, fields] of [
    ['upper case in a name', [...base(), ['X-A', '1']]],
    ['a space before a value', [...base(), ['x-a', ' b']]],
    ['a space behind a value', [...base(), ['x-a', 'b ']]],
    ['a tab behind a value', [...base(), ['x-a', 'b\t']]],
    ['a value of spaces', [...base(), ['x-a', ' ']]],
    ['CRLF in the path', base('/ HTTP/1.1\r\nx-evil: 1\r\n\r\nGET /evil')],
    ['a space in the path', base('/a b')],
    ['an absolute form in the path', base('http://evil/')],
    ['no slash before the path', base('evil')],
    ['CRLF in the method', base('/', 'GET / HTTP/1.1\r\nx-evil: 1\r\n\r\nGET')],
    ['CRLF in the authority', [...base().slice(0, 2), [':authority', 'x\r\nx-evil: 1'], base()[3]]],
    ['a user in the authority', [...base().slice(0, 2), [':authority', 'user@x'], base()[3]]],
    ['transfer-encoding', [...base('/', 'POST'), ['transfer-encoding', 'chunked']]],
    ['connection', [...base(), ['connection', 'x-a'], ['x-a', '1']]],
    ['upgrade', [...base(), ['upgrade', 'websocket']]],
    ['te other than trailers', [...base(), ['te', 'chunked']]],
    ['another host', [...base(), ['host', 'evil']]],
    ['two hosts', [...base(), ['host', 'x'], ['host', 'x']]],
    ['two lengths', [...base('/', 'POST'), ['content-length', '1'], ['content-length', '2']]],
    ['a length with a sign', [...base('/', 'POST'), ['content-length', '+5']]],
    ['a length without a body', [...base('/', 'POST'), ['content-length', '5']]],
    ['two paths', [...base(), [':path', '/evil']]],
    ['a pseudo-header behind a field', [...base().slice(0, 3), ['x-a', '1'], [':path', '/']]],
    ['an unknown pseudo-header', [...base(), [':evil', '1']]],
    ['the extended CONNECT of no WebSocket', [...base('/', 'CONNECT'), [':protocol', 'tcp']]],
    ['the extended CONNECT with an end', [...base('/', 'CONNECT'), [':protocol', 'websocket']]],
    ['another method with a protocol', [...base(), [':protocol', 'websocket']]],
    [
      'CONNECT',
      [
        [':method', 'CONNECT'],
        [':authority', 'x:443'],
      ],
    ],
    ['no path', base().slice(0, 3)],
    ['an encoded slash', base('/a%2fb')],
  ] as readonly (readonly [string, readonly (readonly [string, string])[]])[]) {
    it(name, async () => {
      const { gateway, seen } = await start()
      const socket = await rawHttp2(gateway.port)
      const frames = framesOf(socket, (all) => all.length > 0)
      socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, fieldBlock(fields)))
      const responses = await frames
      assert.deepEqual(seen, [])
      // Either the protocol itself rejects it, or the gateway responds with an error status.
      assert.match(String(responses), /reset|goaway|headers 1/)
    })
  }

  for (const [name, field] of [
    ['CRLF in a value', ['x-a', 'b\r\nx-evil: 1']],
    ['LF in a value', ['x-a', 'b\nx-evil: 1']],
    ['NUL in a value', ['x-a', 'b\0c']],
    ['DEL in a value', ['x-a', 'b\x7f']],
    ['CRLF in a name', ['x-a: b\r\nx-evil', '1']],
    ['a colon in a name', ['x-a:b', '1']],
  ] as const) {
    it(`${name}: the stream ends with PROTOCOL_ERROR, and the connection lives`, async () => {
      const { gateway, seen } = await start()
      const socket = await rawHttp2(gateway.port)
      const frames = framesOf(socket, (all) => all.length === 2)
      socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, fieldBlock([...base(), field])))
      socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 3, fieldBlock(base('/next'))))
      assert.deepEqual(await frames, [`reset ${constants.NGHTTP2_PROTOCOL_ERROR}`, 'headers 3'])
      assert.deepEqual(seen, ['GET /next {"host":"x"}'])
      assert.equal(gateway.rejections.length, 1)
    })
  }

  for (const [name, body, isEnd] of [
    ['more than its length', 'hello world', true],
    ['less than its length', 'he', true],
  ] as const) {
    it(`a body of ${name} is never taken for whole`, async () => {
      let outcome = ''
      const peer = await startPeer('h1', (request, response) => {
        request.resume()
        request.on('error', () => {})
        request.on('end', () => {
          outcome = 'whole'
          response.end()
        })
      })
      const gateway = await startHttp2Gateway({ upstream: peer.port, speaks: 'h1' })
      opened.push(gateway, peer)
      const socket = await rawHttp2(gateway.port)
      const frames = framesOf(socket, (all) => /reset|goaway/.test(String(all)))
      const fields = [...base('/', 'POST'), ['content-length', '5']] as never
      socket.write(frame(HEADERS, END_HEADERS, 1, fieldBlock(fields)))
      socket.write(frame(DATA, isEnd ? END_STREAM : 0, 1, Buffer.from(body)))
      assert.match(String(await frames), /reset|goaway/)
      assert.equal(outcome, '')
    })
  }
})
