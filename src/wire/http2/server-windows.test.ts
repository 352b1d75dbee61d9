import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { DATA, END_HEADERS, fieldBlock, frame, HEADERS } from '../../../test/proxy/http2-gateway.ts'
import { Deadlines } from '../deadlines.ts'
import type { Downstream, DownstreamEvents } from '../downstream.ts'
import { HTTP2_LIMITS } from './limits.ts'
import { ServerSession } from './server.ts'

const [SETTINGS, WINDOW_UPDATE] = [4, 8]
const PIECE = 16_384
const HEAD = fieldBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':authority', 'x.test'],
  [':path', '/'],
])

/** Sends a body as the windows allow, and returns how they grew. */
async function upload(length: number, takes: (received: number) => boolean) {
  const [client, server] = duplexPair()
  const updates: number[] = []
  let [received, window, connection] = [0, HTTP2_LIMITS.streamWindow, 65_535]
  let request: Downstream | undefined
  const events: DownstreamEvents = {
    request: (downstream) => {
      request = downstream
      downstream.readBody(
        {
          write: (bytes) => {
            received += bytes.length
            return takes(received)
          },
          end: () => {},
          abort: () => {},
        },
        false,
      )
    },
    rejected: () => {},
    unreadable: () => {},
    aborted: () => {},
    drained: () => {},
    finished: () => {},
    closed: () => {},
  }
  client.on('data', (bytes: Buffer) => {
    for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
      if (bytes[at + 3] !== WINDOW_UPDATE) continue
      const more = bytes.readUInt32BE(at + 9)
      if (bytes.readUInt32BE(at + 5) === 0) connection += more
      else {
        updates.push(more)
        window += more
      }
    }
  })
  const session = new ServerSession(server as Socket, HTTP2_LIMITS, new Deadlines(10_000), events)
  client.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  client.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)))
  client.write(frame(HEADERS, END_HEADERS, 1, HEAD))
  let [sent, maxInFlight] = [0, 0]
  for (let turns = 0; received < length && turns < 10_000; turns++) {
    await turn()
    const room = Math.min(window, connection, length - sent, PIECE)
    maxInFlight = Math.max(maxInFlight, window + sent - received)
    if (room > 0) {
      client.write(frame(DATA, 0, 1, Buffer.alloc(room)))
      sent += room
      window -= room
      connection -= room
    }
    if (turns % 7 === 0) request?.resumeBody()
  }
  session.destroy()
  return { updates, received, maxInFlight }
}

describe('a stream window', () => {
  it('grows to that of the connection while the body is read as it arrives', async () => {
    const length = 8 * HTTP2_LIMITS.connectionWindow
    const { updates, received, maxInFlight } = await upload(length, () => true)
    assert.equal(received, length)
    // One per half of the grown window, and a few before that.
    assert.ok(updates.length <= 20, `${updates.length} frames`)
    assert.ok(maxInFlight <= HTTP2_LIMITS.connectionWindow, `${maxInFlight} bytes`)
    assert.ok(maxInFlight > 2 * HTTP2_LIMITS.streamWindow, `${maxInFlight} bytes`)
  })

  it('stays the same for a body that waits', async () => {
    const length = 2 * HTTP2_LIMITS.connectionWindow
    const { received, maxInFlight } = await upload(length, () => false)
    assert.equal(received, length)
    assert.ok(maxInFlight <= HTTP2_LIMITS.streamWindow, `${maxInFlight} bytes`)
  })
})
