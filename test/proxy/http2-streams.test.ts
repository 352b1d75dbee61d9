import assert from 'node:assert/strict'
import { constants } from 'node:http2'
import { after, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  RST_STREAM,
  rawHttp2,
  startHttp2Gateway,
} from './http2-gateway.ts'
import { startPeer } from './http2-peers.ts'
import { until } from './whole-gateway.ts'

const SETTINGS = 4
const HEAD = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':authority', 'x'],
  [':path', '/'],
] as const

const opened: { close: () => unknown }[] = []
after(() => opened.forEach((own) => void own.close()))

async function start(limits: { readonly streams: number }) {
  const peer = await startPeer('h1', (request, response) => {
    request.on('error', () => {})
    request.resume()
    response.end('hello')
  })
  const gateway = await startHttp2Gateway({ upstream: peer.port, speaks: 'h1', limits })
  opened.push(gateway, peer)
  return { gateway }
}

describe('the limit of streams', () => {
  it('the client is told the limit, in the first frame, once', async () => {
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
          // The limit counts for node:http2 once it is acknowledged.
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
        // The responses are there, and the requests are not whole yet.
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
