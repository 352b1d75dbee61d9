import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { getHeapStatistics } from 'node:v8'
import { UNRECORDED } from '../../src/exchange/fixtures/recorded.ts'
import { Deadlines } from '../../src/wire/deadlines.ts'
import type { Downstream, DownstreamEvents } from '../../src/wire/downstream.ts'
import { NO_LINES } from '../../src/wire/http1/field-lines.ts'
import { ClientSession } from '../../src/wire/http2/client.ts'
import { SESSION_OPTIONS } from '../../src/wire/http2/client-limits.ts'
import { HTTP2_LIMITS } from '../../src/wire/http2/limits.ts'
import { PREFACE } from '../../src/wire/http2/preface.ts'
import { ACK, PING, PRIORITY, SETTINGS, WINDOW_UPDATE } from '../../src/wire/http2/protocol.ts'
import { ServerSession } from '../../src/wire/http2/server.ts'
import type { ResponseEvents } from '../../src/wire/upstream-connection.ts'
import { DATA, END_HEADERS, END_STREAM, fieldBlock, frame, HEADERS } from './http2-gateway.ts'

const ANY_RATE = { perSecond: 1e12, burst: 1e12 }
const UNLIMITED = { resets: ANY_RATE, controlFrames: ANY_RATE, overhead: ANY_RATE }
/** Frames per read, which share the fixed cost of the read. */
const FRAMES = 400
const READS = 60
/** Reads before the measurement, while V8 compiles. */
const WARM_UP = 300
const NO_BYTES = Buffer.alloc(0)
const SEVEN = Buffer.from([0, 0, 0, 7])

/** An occasional number: no object fits in it. */
const NEGLIGIBLE = 32
/** Bytes that reading the clock allocates, since these frames are counted per second. */
const CLOCK = 72
/** Bytes that `subarray` allocates. */
const VIEW = 160

/** Accepts writes immediately. */
class Wire extends Duplex {
  override _read(): void {}
  override _write(_bytes: Buffer, _encoding: string, done: () => void): void {
    done()
  }
}

interface Reading {
  receive(bytes: Buffer): void
}

/** Bytes that V8 allocated per frame: the minimum of three runs. */
async function bytesEach(session: Reading, make: () => Buffer): Promise<number> {
  for (let i = 0; i < WARM_UP; i++) await read(session, make())
  const tries: number[] = []
  for (let i = 0; i < 3; i++) {
    const reads = Array.from({ length: READS }, make)
    const before = allocated()
    for (const bytes of reads) await read(session, bytes)
    tries.push((allocated() - before) / (READS * FRAMES))
  }
  return Math.min(...tries)
}

async function read(session: Reading, bytes: Buffer): Promise<void> {
  session.receive(bytes)
  // Flushes what was written.
  await turn()
}

function allocated(): number {
  const { total_allocated_bytes: bytes } = getHeapStatistics() as { total_allocated_bytes?: number }
  return bytes ?? 0
}

function many(count: number, ...frames: readonly Buffer[]): Buffer {
  return Buffer.concat(Array.from({ length: count }, () => frames).flat())
}

function serve(request: (downstream: Downstream) => void): ServerSession {
  const events: DownstreamEvents = {
    request,
    rejected: () => assert.fail('rejected'),
    unreadable: () => assert.fail('unreadable'),
    aborted: () => {},
    drained: () => {},
    finished: () => {},
    closed: () => {},
  }
  const limits = { ...HTTP2_LIMITS, ...UNLIMITED }
  const socket = new Wire() as unknown as Socket
  const session = new ServerSession(socket, limits, new Deadlines(1e6), events)
  session.receive(
    Buffer.concat([PREFACE, frame(SETTINGS, 0, 0, NO_BYTES), frame(SETTINGS, ACK, 0, NO_BYTES)]),
  )
  return session
}

const BLOCK = fieldBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':authority', 'x.test'],
  [':path', '/'],
])

/** A session that consumes bodies as they arrive. */
function uploading(...ids: readonly number[]): ServerSession {
  const session = serve((downstream) =>
    downstream.readBody({ write: () => true, end() {}, abort() {} }, false),
  )
  for (const id of ids) session.receive(frame(HEADERS, END_HEADERS, id, BLOCK))
  return session
}

const isCounted = allocated() > 0

describe('allocations of V8 for frames', {
  skip: !isCounted && 'this Node.js does not count',
}, () => {
  const body = Buffer.alloc(40)
  const cases: readonly (readonly [name: string, max: number, () => Buffer])[] = [
    ['PING', CLOCK, () => many(FRAMES, frame(PING, 0, 0, Buffer.alloc(8)))],
    ['PRIORITY', CLOCK, () => many(FRAMES, frame(PRIORITY, 0, 1, Buffer.alloc(5)))],
    ['WINDOW_UPDATE', NEGLIGIBLE, () => many(FRAMES, frame(WINDOW_UPDATE, 0, 1, SEVEN))],
    ['DATA of one stream', NEGLIGIBLE, () => many(FRAMES, frame(DATA, 0, 1, body))],
    [
      'DATA of two streams in turn: a view for each',
      VIEW,
      () => many(FRAMES / 2, frame(DATA, 0, 1, body), frame(DATA, 0, 3, body)),
    ],
  ]
  for (const [name, max, make] of cases)
    it(name, async () => {
      const bytes = await bytesEach(uploading(1, 3), make)
      assert.ok(bytes < max, `${bytes} bytes`)
    })

  it('a client stream reuses a finished one', async () => {
    const seen = new Set<Downstream>()
    const session = serve((downstream) => {
      seen.add(downstream)
      downstream.reply(UNRECORDED, 204, NO_LINES, '')
    })
    let id = -1
    const request = () => frame(HEADERS, END_HEADERS | END_STREAM, (id += 2), BLOCK)
    const requests = () => Buffer.concat(Array.from({ length: FRAMES }, request))
    for (let i = 0; i < 10; i++) await read(session, requests())
    assert.equal(seen.size, 1)
  })

  it('an upstream stream reuses a finished one', async () => {
    const socket = new Wire() as unknown as Socket
    const options = { ...SESSION_OPTIONS, ...UNLIMITED, authority: 'x.test' }
    const deadlines = new Deadlines(1e6)
    const events = { ready() {}, freed() {}, closed() {} }
    const session = new ClientSession(socket, options, deadlines, events)
    session.receive(frame(SETTINGS, 0, 0, NO_BYTES))
    const seen = new Set<object>()
    let ended = 0
    const told: ResponseEvents = {
      idleTimeout: 60_000,
      interim() {},
      response: () => false,
      data: () => true,
      ended: () => void ended++,
      failed: (reason) => assert.fail(reason),
      drained() {},
    }
    const response = fieldBlock([[':status', '204']])
    for (let i = 0; i < 100; i++) {
      const stream = session.open()
      seen.add(stream)
      stream.send('GET', 'GET / HTTP/1.1\r\nhost: x.test\r\n\r\n', false, 1e6, told)
      await read(session, frame(HEADERS, END_HEADERS | END_STREAM, stream.id, response))
    }
    assert.equal(ended, 100)
    assert.equal(seen.size, 1)
  })
})
