import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:http2'
import { type AddressInfo, createServer } from 'node:net'
import { describe, it } from 'node:test'
import { fill, PatternReader } from '../../../test/faults/patterns.ts'
import { UNRECORDED } from '../../exchange/fixtures/recorded.ts'
import { Deadlines } from '../deadlines.ts'
import type { Downstream, DownstreamEvents } from '../downstream.ts'
import { NO_LINES } from '../http1/field-lines.ts'
import type { BodySink } from '../streams.ts'
import { HTTP2_LIMITS } from './limits.ts'
import { ServerSession } from './server.ts'

const LIMITS = { ...HTTP2_LIMITS, streamWindow: 1 << 20, connectionWindow: 4 << 20 }

/** Sends bodies at the same time on one connection; `consume` gets each request. */
async function upload(
  lengths: readonly number[],
  consume: (at: number, downstream: Downstream) => void,
): Promise<void> {
  const events: DownstreamEvents = {
    request: (downstream) => consume(Number(downstream.head.path.slice(1)), downstream),
    rejected: () => {},
    unreadable: () => {},
    aborted: () => {},
    drained: () => {},
    finished: () => {},
    closed: () => {},
  }
  const server = createServer((socket) => {
    socket.on('error', () => {})
    new ServerSession(socket, LIMITS, new Deadlines(1_000), events)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await once(client, 'remoteSettings')
  const all = lengths.map((length, at) => {
    const stream = client.request({ ':method': 'POST', ':path': `/${at}` })
    stream.resume()
    stream.end(fill(at, 0, length))
    return once(stream, 'close')
  })
  await Promise.all(all)
  client.destroy()
  server.close()
}

describe('bodies that wait for their readers', () => {
  // Long enough that they are read into large buffers, and stay there instead of being copied.
  for (const [sentence, length] of [
    ['short pieces', 3_000],
    ['the length of a frame', 16_384],
    ['many frames', 400_000],
  ] as const) {
    it(`are not overwritten by those that arrive meanwhile: ${sentence}`, async () => {
      const readers = new Map<number, PatternReader>()
      const waiting: (() => void)[] = []
      const lengths = [length, 600_000, length, 600_000, length]
      await upload(lengths, (at, downstream) => {
        const reader = new PatternReader(at)
        readers.set(at, reader)
        const sink: BodySink = {
          write: (bytes) => {
            reader.take(bytes)
            return true
          },
          hasWritten: () => true,
          end: () => {
            downstream.reply(UNRECORDED, 200, NO_LINES, 'ok')
            // The others have waited until all of this one was read.
            if (at === 3) for (const read of waiting) read()
          },
          abort: assert.fail,
        }
        if (at % 2 === 0) waiting.push(() => downstream.readBody(sink, false))
        else downstream.readBody(sink, false)
      })
      for (const [at, whole] of lengths.entries()) {
        const { received, wrongAt } = readers.get(at) ?? {}
        assert.deepEqual([received, wrongAt], [whole, -1], `body ${at}`)
      }
    })
  }
})
