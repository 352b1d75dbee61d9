import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { PlainDecoder } from '../fuzz/hpack.plain.ts'
import { listen } from './harness.ts'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
  type Http2Gateway,
  startHttp2Gateway,
} from './http2-gateway.ts'
import { CONTINUATION, PING, SETTINGS, WINDOW_UPDATE, words } from './scripted-upstream.ts'
import { until } from './whole-gateway.ts'

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
const [TABLE_SIZE, INITIAL_WINDOW] = [1, 4]
const LARGE = 400_000

interface Received {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** A client that sends the given frames, and keeps each frame that it receives. */
class RawClient {
  readonly socket: Socket
  readonly frames: Received[] = []
  #held: Buffer = Buffer.alloc(0)
  #pings = 0

  constructor(port: number) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.socket.on('error', () => {})
    this.socket.on('data', (bytes: Buffer) => this.#receive(bytes))
  }

  /** Sends frames, and waits until the gateway has read them and sent its responses. */
  async say(...frames: readonly Buffer[]): Promise<void> {
    const count = ++this.#pings
    this.socket.write(Buffer.concat([...frames, frame(PING, 0, 0, words(0, count))]))
    await until('the response to a PING', () =>
      this.frames.some(({ type, payload }) => type === PING && payload.readUInt32BE(4) === count),
    )
  }

  bytesOf(id: number): number {
    const own = this.frames.filter(({ type, stream }) => type === DATA && stream === id)
    return own.reduce((sum, { payload }) => sum + payload.length, 0)
  }

  hasEnded(id: number): boolean {
    return this.frames.some(
      ({ type, flags, stream }) => type <= HEADERS && stream === id && (flags & END_STREAM) !== 0,
    )
  }

  #receive(bytes: Buffer): void {
    let all = Buffer.concat([this.#held, bytes])
    while (all.length >= 9 && all.length >= 9 + all.readUIntBE(0, 3)) {
      const end = 9 + all.readUIntBE(0, 3)
      const [type = 0, flags = 0] = all.subarray(3, 5)
      const stream = all.readUInt32BE(5)
      this.frames.push({ type, flags, stream, payload: Buffer.from(all.subarray(9, end)) })
      all = all.subarray(end)
    }
    this.#held = all
  }
}

function setting(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(6)
  bytes.writeUInt16BE(id)
  bytes.writeUInt32BE(value, 2)
  return frame(SETTINGS, 0, 0, bytes)
}

const sum = (client: RawClient) => client.bytesOf(1) + client.bytesOf(3)

const headOf = (method: string, path: string) =>
  fieldBlock([
    [':method', method],
    [':scheme', 'http'],
    [':authority', 'x'],
    [':path', path],
  ])
const get = (id: number, path: string) =>
  frame(HEADERS, END_HEADERS | END_STREAM, id, headOf('GET', path))
const NO_SETTINGS = frame(SETTINGS, 0, 0, Buffer.alloc(0))

describe('settings that a client changes during a connection', () => {
  const backend = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (bytes: Buffer) => chunks.push(bytes))
    request.on('end', () => {
      response.setHeader('x-same', 'a value that is worth its place in a table')
      if (request.url === '/large') response.end(Buffer.alloc(LARGE))
      else response.end(`${request.method} ${request.url} ${Buffer.concat(chunks)}`)
    })
  })
  let gateway: Http2Gateway
  before(async () => {
    gateway = await startHttp2Gateway({ upstream: await listen(backend), speaks: 'h1' })
  })
  after(() => {
    gateway.close()
    backend.close()
    backend.closeAllConnections()
  })

  it('a window that shrinks below what is in flight is refilled first', async () => {
    const client = new RawClient(gateway.port)
    await client.say(PREFACE, NO_SETTINGS, get(1, '/large'))
    await until('as much as there is room for', () => client.bytesOf(1) === 65_535)
    const grow = (id: number, bytes: number) => frame(WINDOW_UPDATE, 0, id, words(bytes))
    // RFC 9113 §6.9.2: the window becomes negative.
    await client.say(grow(0, LARGE), setting(INITIAL_WINDOW, 1_000))
    assert.equal(client.bytesOf(1), 65_535)
    await client.say(grow(1, 64_535))
    assert.equal(client.bytesOf(1), 65_535)
    await client.say(grow(1, 500))
    assert.equal(client.bytesOf(1), 66_035)
    await client.say(setting(INITIAL_WINDOW, 0), grow(1, 999))
    assert.equal(client.bytesOf(1), 66_035)
    await client.say(setting(INITIAL_WINDOW, 1))
    assert.equal(client.bytesOf(1), 66_035)
    await client.say(setting(INITIAL_WINDOW, 101))
    assert.equal(client.bytesOf(1), 66_135)
    // Another stream starts with the current setting.
    await client.say(get(3, '/large'))
    await until('the same of another stream', () => client.bytesOf(3) === 101)
    await client.say(setting(INITIAL_WINDOW, LARGE))
    // Both streams use all the room of the connection, and no more.
    await until('as much as all have room for', () => sum(client) === 65_535 + LARGE)
    await client.say(grow(0, LARGE))
    await until('the whole of both', () => client.hasEnded(1) && client.hasEnded(3))
    assert.deepEqual([client.bytesOf(1), client.bytesOf(3)], [LARGE, LARGE])
    client.socket.destroy()
  })

  it('a table that shrinks and grows again', async () => {
    const client = new RawClient(gateway.port)
    const decoder = new PlainDecoder()
    const heads = () => client.frames.filter(({ type }) => type === HEADERS)
    await client.say(PREFACE, NO_SETTINGS)
    let id = 1
    for (const size of [4_096, 0, 4_096, 50, 0, 100, 1_000_000, 20]) {
      await client.say(setting(TABLE_SIZE, size))
      for (let i = 0; i < 3; i++, id += 2) {
        client.socket.write(get(id, `/${id}`))
        await until('a response', () => client.hasEnded(id))
        const block = heads().at(-1)?.payload ?? Buffer.alloc(0)
        const fields = new Map(decoder.read(block))
        assert.equal(fields.get(':status'), '200', `table of ${size}`)
        assert.equal(fields.get('x-same'), 'a value that is worth its place in a table')
        // RFC 7541 §4.2: a smaller size is acknowledged at the beginning of the next block.
        if (i === 0 && size < 4_096) assert.equal((block[0] as number) & 0xe0, 0x20)
        // No reference to an entry that cannot be in the dynamic table; static entries are allowed.
        if (size === 0) assert.ok(block.length > 40)
      }
    }
    client.socket.destroy()
  })

  it('a whole connection, split in two at every byte, gives the same result', async () => {
    const head = headOf('POST', '/upload')
    const padded = Buffer.concat([Buffer.from([5]), Buffer.from('pad'), Buffer.alloc(5)])
    const bytes = Buffer.concat([
      PREFACE,
      NO_SETTINGS,
      frame(HEADERS, 0, 1, head.subarray(0, 7)),
      frame(CONTINUATION, END_HEADERS, 1, head.subarray(7)),
      frame(DATA, 0, 1, Buffer.from('some ')),
      get(3, '/between'),
      frame(DATA, 0x8, 1, padded),
      frame(PING, 0, 0, words(7, 7)),
      frame(DATA, 0, 1, Buffer.from('ding')),
      frame(HEADERS, END_HEADERS | END_STREAM, 1, fieldBlock([['x-trailer', '1']])),
      frame(SETTINGS, 1, 0, Buffer.alloc(0)),
    ])
    for (let at = 1; at < bytes.length; at++) {
      const client = new RawClient(gateway.port)
      client.socket.write(bytes.subarray(0, at))
      for (let i = 0; i < 3; i++) await turn()
      client.socket.write(bytes.subarray(at))
      await until(`both responses, cut at ${at}`, () => client.hasEnded(1) && client.hasEnded(3))
      const text = (id: number) =>
        client.frames
          .filter(({ type, stream }) => type === DATA && stream === id)
          .map(({ payload }) => payload.toString())
          .join('')
      assert.deepEqual(
        [text(1), text(3)],
        ['POST /upload some padding', 'GET /between '],
        `cut at ${at}`,
      )
      client.socket.destroy()
    }
  })
})
