import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type ClientHttp2Session, connect } from 'node:http2'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createServer as createTlsServer } from 'node:tls'
import fc from 'fast-check'
import { Deadlines } from '../../src/wire/deadlines.ts'
import type { DownstreamEvents } from '../../src/wire/downstream.ts'
import { HTTP2_LIMITS } from '../../src/wire/http2/limits.ts'
import { ServerSession } from '../../src/wire/http2/server.ts'
import { fill } from '../faults/patterns.ts'
import { makeAuthority, WITHOUT_OPENSSL } from '../tls/certificates.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'
import { Keeper, type KeptUpload } from './upload-keeper.ts'

/**
 * Uploads of many streams on one connection, which share its read buffers, in cleartext and over
 * TLS, where records accumulate. Each sink keeps the bytes that it is given without a copy, and
 * compares them only when it reports them as written.
 */

interface Upload extends KeptUpload {
  readonly length: number
  /** Bytes that the client writes at a time. */
  readonly piece: number
}

const upload: fc.Arbitrary<Upload> = fc.record({
  seed: fc.nat(1_000),
  length: fc.oneof(fc.nat(40), fc.nat(20_000), fc.nat(400_000)),
  piece: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1_000, max: 200_000 })),
  writesAfter: fc.constantFrom(0, 0, 1, 2, -1),
  saysWritten: fc.constantFrom(true, true, true, false),
  pausesAt: fc.constantFrom(0, 100, 50_000),
  repliesAt: fc.constantFrom(-1, -1, -1, -1, -1, -1, -1, 60_000),
})

const LIMITS = { ...HTTP2_LIMITS, controlFrames: { perSecond: 1e9, burst: 1e9 } }

for (const isTls of [false, true]) {
  const skip = isTls && WITHOUT_OPENSSL
  describe(`buffers of uploads over HTTP/2, ${isTls ? 'TLS' : 'in the clear'}`, { skip }, () => {
    const deadlines = new Deadlines(50)
    let uploads: readonly Upload[] = []
    let keepers: Keeper[] = []
    let server: Server
    let client: ClientHttp2Session
    const events: DownstreamEvents = {
      request: (downstream) => {
        const at = Number(downstream.head.path.slice(1))
        const keeper = new Keeper(uploads[at] as Upload, downstream, true)
        keepers[at] = keeper
        downstream.readBody(keeper, false)
      },
      rejected: () => {},
      unreadable: () => {},
      aborted: () => {},
      drained: () => {},
      finished: () => {},
      closed: () => {},
    }

    before(async () => {
      const serve = (socket: Socket) => {
        socket.on('error', () => {})
        new ServerSession(socket, LIMITS, deadlines, events)
      }
      const { cert, key } = isTls ? makeAuthority('uploads') : { cert: '', key: '' }
      server = isTls
        ? createTlsServer({ cert, key, ALPNProtocols: ['h2'] }, serve)
        : createServer(serve)
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      const options = { rejectUnauthorized: false }
      client = connect(`${isTls ? 'https' : 'http'}://127.0.0.1:${port}`, options)
      await once(client, 'connect')
    })
    after(() => {
      client.destroy()
      server.close()
    })

    it('are not overwritten while a stream needs them', async () => {
      const property = fc.asyncProperty(
        fc.array(upload, { minLength: 1, maxLength: 8 }),
        async (some) => {
          uploads = some
          keepers = []
          await Promise.all(some.map((one, at) => send(client, one, at)))
          for (const [at, { length, repliesAt }] of some.entries()) {
            const keeper = keepers[at]
            keeper?.compare()
            assert.equal(keeper?.fault, undefined, `upload ${at}`)
            // The body after an early response need not be read.
            if (repliesAt < 0) assert.equal(keeper?.compared, length)
          }
        },
      )
      await assertProperty('lent-uploads-http2', property, fuzz(0.01, 40))
    })
  })
}

/** Resolves when the response has arrived. */
async function send(client: ClientHttp2Session, { seed, length, piece }: Upload, at: number) {
  const stream = client.request({ ':method': 'POST', ':path': `/${at}`, 'content-length': length })
  stream.on('error', () => {})
  const closed = once(stream, 'close')
  stream.resume()
  for (let from = 0, i = 0; from < length && !stream.destroyed; i++) {
    // Limits the number of very small pieces, so that the test finishes.
    const size = i > 40 ? length - from : Math.min(piece, length - from)
    stream.write(fill(seed, from, size))
    from += size
    if (i % 3 === 0) await turn()
  }
  stream.end()
  await closed
}
