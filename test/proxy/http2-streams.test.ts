import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientHttp2Session, connect, constants } from 'node:http2'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  type Http2Gateway,
  RST_STREAM,
  rawHttp2,
  startHttp2Gateway,
} from './http2-gateway.ts'
import { askHttp2, startPeer } from './http2-peers.ts'
import { until } from './whole-gateway.ts'

const SETTINGS = 4
const PING = 6
const GOAWAY = 7
const ACK = 1
const HEAD = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':authority', 'x'],
  [':path', '/'],
] as const

const opened: { close: () => unknown }[] = []
after(() => opened.forEach((own) => void own.close()))

async function start(limits: { readonly streams?: number } = {}) {
  const peer = await startPeer('h1', (request, response) => {
    request.on('error', () => {})
    request.resume()
    response.end('hello')
  })
  const gateway = await startHttp2Gateway({ upstream: peer.port, speaks: 'h1', limits })
  opened.push(gateway, peer)
  return { gateway }
}

function sessionTo(gateway: Http2Gateway): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${gateway.port}`)
  session.on('error', () => {})
  opened.push({ close: () => session.destroy() })
  return session
}

describe('the limit of streams', () => {
  it('the gateway announces the limit, in the first frame, once', async () => {
    const { gateway } = await start({ streams: 7 })
    const socket = await rawHttp2(gateway.port)
    const held: Buffer[] = []
    socket.on('data', (bytes: Buffer) => held.push(bytes))
    await wait(300)
    socket.destroy()
    const bytes = Buffer.concat(held)
    const settings: (readonly [id: number, value: number])[] = []
    const types: number[] = []
    for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
      const type = bytes[at + 3] as number
      types.push(type)
      const end = at + 9 + bytes.readUIntBE(at, 3)
      for (let i = at + 9; type === SETTINGS && i < end; i += 6)
        settings.push([bytes.readUInt16BE(i), bytes.readUInt32BE(i + 2)])
    }
    assert.equal(types[0], SETTINGS)
    const MAX_CONCURRENT_STREAMS = 3
    assert.deepEqual(
      settings.filter(([id]) => id === MAX_CONCURRENT_STREAMS).map(([, value]) => value),
      [7],
    )
  })

  for (const streams of [2, 60, 100]) {
    it(`a client that ends ${streams} streams and opens as many in one write is served`, async () => {
      const { gateway } = await start({ streams })
      const socket = await rawHttp2(gateway.port)
      let held = Buffer.alloc(0)
      const resets: number[] = []
      let ended = 0
      socket.on('data', (bytes: Buffer) => {
        held = Buffer.concat([held, bytes])
        while (held.length >= 9 && held.length >= 9 + held.readUIntBE(0, 3)) {
          const end = 9 + held.readUIntBE(0, 3)
          const [type = 0, flags = 0] = held.subarray(3, 5)
          if (type === SETTINGS && flags === 0) socket.write(frame(SETTINGS, 1, 0, Buffer.alloc(0)))
          if (type === RST_STREAM) resets.push(held.readUInt32BE(9))
          if ((type === DATA || type === HEADERS) && (flags & END_STREAM) > 0) ended++
          held = held.subarray(end)
        }
      })
      const post = fieldBlock([[':method', 'POST'], ...HEAD.slice(1)])
      const each = (first: number, make: (stream: number) => Buffer) =>
        Array.from({ length: streams }, (_, i) => make(first + 2 * i))
      const heads = (first: number) => each(first, (id) => frame(HEADERS, END_HEADERS, id, post))
      const ends = (first: number) =>
        each(first, (id) => frame(DATA, END_STREAM, id, Buffer.from('x')))
      socket.write(Buffer.concat(heads(1)))
      for (let round = 1; round < 4; round++) {
        // The responses have arrived, and the requests are not complete yet.
        await until('the responses', () => ended === round * streams)
        const first = 1 + 2 * streams * (round - 1)
        socket.write(Buffer.concat([...ends(first), ...heads(first + 2 * streams)]))
      }
      await until('the last responses', () => ended === 4 * streams)
      socket.destroy()
      assert.deepEqual(
        resets.filter((code) => code !== constants.NGHTTP2_NO_ERROR),
        [],
      )
    })
  }
})

describe('draining', () => {
  it('streams in progress finish, new ones are not accepted, then the connection closes', async () => {
    const peer = await startPeer('h1', (request, response) => {
      setTimeout(() => response.end('late'), request.url === '/slow' ? 600 : 0)
    })
    const gateway = await startHttp2Gateway({ upstream: peer.port, speaks: 'h1' })
    opened.push(gateway, peer)
    const session = sessionTo(gateway)
    const slow = askHttp2(session, { path: '/slow' })
    await wait(100)
    const goodbyes: unknown[] = []
    session.on('goaway', (code, last) => goodbyes.push([code, last]))
    for (const own of gateway.sessions) own.drain()
    assert.equal(String((await slow).body), 'late')
    // The first GOAWAY is a warning: streams opened before it arrived are served as well.
    assert.deepEqual(goodbyes, [
      [0, 2 ** 31 - 1],
      [0, 1],
    ])
    await once(session, 'close')
  })

  it('a connection without streams closes immediately', async () => {
    const { gateway } = await start()
    const session = sessionTo(gateway)
    await askHttp2(session, {})
    for (const own of gateway.sessions) own.drain()
    await once(session, 'close')
  })

  it('a request that was in flight is served', async () => {
    const { gateway } = await start()
    const socket = await rawHttp2(gateway.port)
    const frames: string[] = []
    let held = Buffer.alloc(0)
    socket.on('data', (bytes: Buffer) => {
      held = Buffer.concat([held, bytes])
      while (held.length >= 9 && held.length >= 9 + held.readUIntBE(0, 3)) {
        const payload = held.subarray(9, 9 + held.readUIntBE(0, 3))
        const [type = 0, id] = [held[3], held.readUInt32BE(5)]
        held = held.subarray(9 + payload.length)
        if (type === HEADERS) frames.push(`headers ${id}`)
        if (type === GOAWAY) frames.push(`goaway ${payload.readUInt32BE(0)}`)
        if (type !== PING) continue
        // The client reads the warning only now, so it sent this request before.
        socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 3, fieldBlock(HEAD)))
        socket.write(frame(PING, ACK, 0, payload))
      }
    })
    socket.write(frame(HEADERS, END_HEADERS | END_STREAM, 1, fieldBlock(HEAD)))
    await until('a response', () => frames.length === 1)
    for (const own of gateway.sessions) own.drain()
    await once(socket, 'close')
    assert.deepEqual(frames.toSorted(), ['goaway 2147483647', 'goaway 3', 'headers 1', 'headers 3'])
    assert.ok(frames.indexOf('goaway 3') > frames.indexOf('goaway 2147483647'))
  })
})
