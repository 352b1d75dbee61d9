import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { after, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createServer } from 'node:tls'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
} from '../../../test/proxy/http2-gateway.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../../../test/tls/certificates.ts'
import { UNRECORDED } from '../../exchange/fixtures/recorded.ts'
import { Deadlines } from '../deadlines.ts'
import type { Downstream, DownstreamEvents } from '../downstream.ts'
import { fieldLine, NO_LINES } from '../http1/field-lines.ts'
import { HTTP2_LIMITS } from './limits.ts'
import { PREFACE } from './preface.ts'
import { PING, SETTINGS, WINDOW_UPDATE } from './protocol.ts'
import { ServerSession } from './server.ts'

const opened: { close: () => unknown }[] = []
after(async () => {
  for (const own of opened) await own.close()
})

describe('TLS that negotiates h2', { skip: WITHOUT_OPENSSL }, () => {
  it('sends interim responses and 100 (Continue) before the response', async () => {
    const authority = makeAuthority('test')
    const { cert, key } = authority.issue({ names: ['DNS:localhost'] })
    const seen: string[] = []
    const events: DownstreamEvents = {
      request: (downstream: Downstream) => {
        const { head } = downstream
        seen.push(`${head.method} ${head.host} ${head.expectContinue}`)
        downstream.readBody(
          {
            write: (bytes) => {
              seen.push(String(bytes))
              return true
            },
            end: () => downstream.reply(UNRECORDED, 201, fieldLine('X-A', '1') ?? NO_LINES, 'done'),
            abort: () => {},
          },
          false,
        )
      },
      unreadable: () => {},
      rejected: () => {},
      aborted: () => {},
      drained: () => {},
      finished: () => void seen.push('finished'),
      closed: () => void seen.push('closed'),
    }
    const deadlines = new Deadlines(20)
    const server = createServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => {
      assert.equal(socket.alpnProtocol, 'h2')
      new ServerSession(socket, HTTP2_LIMITS, deadlines, events)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    opened.push(server)
    const { port } = server.address() as AddressInfo
    const session = connect(`https://localhost:${port}`, { ca: authority.cert })
    const stream = session.request({ ':method': 'PUT', ':path': '/', expect: '100-continue' })
    stream.once('continue', () => stream.end('body'))
    const [headers] = await once(stream, 'response')
    assert.equal(headers[':status'], 201)
    assert.equal(headers['x-a'], '1')
    assert.equal(headers['content-length'], '4')
    await once(stream.resume(), 'end')
    session.close()
    await once(session, 'close')
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.deepEqual(seen, ['PUT localhost true', 'body', 'finished', 'closed'])
  })
})

describe('normal client behavior is not a flood', () => {
  const HEAD = fieldBlock([
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/'],
    [':authority', 'x'],
  ])
  const FLAGS = { ends: END_HEADERS | END_STREAM, open: END_HEADERS }

  for (const [name, framesOf] of [
    [
      'an empty frame that ends each request',
      (id: number) => [
        frame(HEADERS, FLAGS.open, id, HEAD),
        frame(DATA, END_STREAM, id, Buffer.alloc(0)),
      ],
    ],
    [
      // gRPC clients do this to estimate bandwidth.
      'a PING for each response',
      (id: number) => [frame(HEADERS, FLAGS.ends, id, HEAD), frame(PING, 0, 0, Buffer.alloc(8))],
    ],
  ] as const) {
    it(name, async () => {
      const served = await serveFrames(framesOf, 2_000)
      assert.deepEqual(served, { responses: 2_000, floods: [] })
    })
  }

  it('PINGs without requests are', async () => {
    const { floods } = await serveFrames(() => [frame(PING, 0, 0, Buffer.alloc(8))], 2_000)
    assert.deepEqual(floods, ['too-many-pings'])
  })

  it('a single request does not permit PINGs forever', async () => {
    const framesOf = (id: number) =>
      id === 1 ? [frame(HEADERS, FLAGS.ends, id, HEAD)] : [frame(PING, 0, 0, Buffer.alloc(8))]
    const { responses, floods } = await serveFrames(framesOf, 2_000)
    assert.deepEqual([responses, floods], [1, ['too-many-pings']])
  })
})

/** Sends a server the frames of each turn, and responds to its requests. */
async function serveFrames(
  framesOf: (id: number) => readonly Buffer[],
  turns: number,
): Promise<{ responses: number; floods: string[] }> {
  const [client, server] = duplexPair()
  client.on('error', () => {})
  client.resume()
  const floods: string[] = []
  let responses = 0
  const events: DownstreamEvents = {
    request: (downstream) => {
      const end = () => {
        responses++
        downstream.reply(UNRECORDED, 200, NO_LINES, 'response')
      }
      downstream.readBody({ write: () => true, end, abort: () => {} }, false)
    },
    unreadable: () => {},
    rejected: () => {},
    aborted: () => {},
    drained: () => {},
    finished: () => {},
    closed: () => {},
  }
  const session = new ServerSession(server as Socket, HTTP2_LIMITS, new Deadlines(10_000), events, {
    counted: (what) => void (what.startsWith('too-') && floods.push(what)),
  })
  client.write(PREFACE)
  client.write(frame(SETTINGS, 0, 0, Buffer.alloc(0)))
  for (let i = 0; i < turns && floods.length === 0; i++) {
    client.write(Buffer.concat(framesOf(2 * i + 1)))
    // The server's frames are sent before it receives more.
    for (let wait = 0; wait < 3; wait++) await turn()
    client.write(frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 0, 8])))
  }
  session.destroy()
  return { responses, floods }
}
