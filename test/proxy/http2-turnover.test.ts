import assert from 'node:assert/strict'
import { constants } from 'node:http2'
import { after, before, describe, it } from 'node:test'
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
import { startPeer } from './http2-peers.ts'
import { until } from './whole-gateway.ts'

/*
 * A client that never has more than the advertised 100 streams, and ends old ones and opens new
 * ones in one write, is not a flood: none of its streams may be reset.
 */

const GOAWAY = 7
const head = (method: string) =>
  fieldBlock([
    [':method', method],
    [':scheme', 'http'],
    [':authority', 'x'],
    [':path', '/'],
  ])

describe('streams that end and start in one write', () => {
  let gateway: Http2Gateway
  let peer: Awaited<ReturnType<typeof startPeer>>
  before(async () => {
    peer = await startPeer('h1', (request, response) => {
      request.on('error', () => {})
      request.on('end', () => response.end('hello')).resume()
    })
    gateway = await startHttp2Gateway({ upstream: peer.port, speaks: 'h1' })
  })
  after(() => Promise.all([gateway.close(), peer.close()]))

  for (const [size, rounds] of [
    [100, 5],
    [60, 5],
  ] as const) {
    for (const how of ['their bodies end', 'some are cancelled'] as const) {
      it(`${size} at once, of ${size * rounds}, where ${how}: none is reset`, async () => {
        const socket = await rawHttp2(gateway.port)
        const served = new Set<number>()
        const resets: string[] = []
        let rest = Buffer.alloc(0)
        socket.on('data', (bytes: Buffer) => {
          rest = Buffer.concat([rest, bytes])
          while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
            const [length, type] = [rest.readUIntBE(0, 3), rest[3]]
            const id = rest.readUInt32BE(5) & 0x7fff_ffff
            if (type === HEADERS) served.add(id)
            if (type === RST_STREAM) resets.push(`stream ${id}: ${rest.readUInt32BE(9)}`)
            if (type === GOAWAY) resets.push(`goaway ${rest.readUInt32BE(13)}`)
            rest = rest.subarray(9 + length)
          }
        })
        let next = 1
        let open: number[] = []
        const expected = new Set<number>()
        for (let round = 0; round < rounds; round++) {
          const frames: Buffer[] = []
          // Low enough that a client may cancel this many in a second.
          const cancelled = how === 'their bodies end' ? 0 : 10
          for (const [at, id] of open.entries()) {
            if (at < cancelled) {
              const code = Buffer.alloc(4)
              code.writeUInt32BE(constants.NGHTTP2_CANCEL)
              frames.push(frame(RST_STREAM, 0, id, code))
            } else {
              frames.push(frame(DATA, END_STREAM, id, Buffer.from('x')))
              expected.add(id)
            }
          }
          if (cancelled === 0 || round === 0) {
            socket.write(Buffer.concat(frames))
            await until('the old ones', () => expected.isSubsetOf(served))
            frames.length = 0
          }
          // The number of streams that both sides have closed, and not one more.
          const free = round === 0 || cancelled === 0 ? size : cancelled
          const begun = Array.from({ length: free }, () => {
            const id = next
            next += 2
            return id
          })
          for (const id of begun) frames.push(frame(HEADERS, END_HEADERS, id, head('POST')))
          socket.write(Buffer.concat(frames))
          if (cancelled > 0) await until('the old ones', () => expected.isSubsetOf(served))
          open = begun
        }
        const last = open.map((id) => frame(DATA, END_STREAM, id, Buffer.from('x')))
        for (const id of open) expected.add(id)
        socket.write(Buffer.concat(last))
        await until('the last ones', () => expected.isSubsetOf(served))
        assert.deepEqual(resets, [])
        socket.destroy()
      })
    }
  }
})
