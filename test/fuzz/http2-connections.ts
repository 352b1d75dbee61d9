import { performServerHandshake } from 'node:http2'
import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { UNRECORDED } from '../../src/exchange/fixtures/recorded.ts'
import { Deadlines } from '../../src/wire/deadlines.ts'
import type { Downstream, DownstreamEvents } from '../../src/wire/downstream.ts'
import { NO_LINES } from '../../src/wire/http1/field-lines.ts'
import { fieldName, fieldValue } from '../../src/wire/http1/fields.ts'
import { HTTP2_LIMITS } from '../../src/wire/http2/limits.ts'
import { ServerSession } from '../../src/wire/http2/server.ts'
import { DATA, END_HEADERS, END_STREAM, frame, HEADERS } from '../proxy/http2-gateway.ts'
import { readServed, type Served } from './http2-served.ts'

const [PRIORITY, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION] = [2, 4, 6, 8, 9]
const [PADDED, HAS_PRIORITY] = [0x8, 0x20]
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

export interface Asked {
  readonly method: string
  readonly path: string
  readonly fields: readonly (readonly [string, string])[]
  readonly body: readonly string[]
  readonly trailers: readonly (readonly [string, string])[]
  readonly isIndexed: boolean
  readonly padding: number
  /** Bytes of the block in the HEADERS frame; the rest is in CONTINUATION frames. */
  readonly firstPart: number
  readonly hasPriority: boolean
  readonly before: 'nothing' | 'ping' | 'priority' | 'unknown' | 'window' | 'settings'
}

const field = fc.tuple(
  fc.constantFrom('x-a', 'x-b', 'accept', 'cookie', 'user-agent'),
  fc.stringMatching(/^[!-~]([ -~]{0,40}[!-~])?$/),
)

export const asked: fc.Arbitrary<Asked> = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
  path: fc.stringMatching(/^\/[a-z0-9/]{0,30}(\?[a-z=&]{1,10})?$/),
  fields: fc.array(field, { maxLength: 6 }),
  body: fc.array(fc.stringMatching(/^[a-z]{0,200}$/), { maxLength: 4 }),
  trailers: fc.array(fc.tuple(fc.constantFrom('x-t', 'x-u'), fc.constantFrom('1', 'two')), {
    maxLength: 2,
  }),
  isIndexed: fc.boolean(),
  padding: fc.constantFrom(-1, -1, 0, 1, 200),
  firstPart: fc.constantFrom(100_000, 100_000, 0, 1, 7),
  hasPriority: fc.boolean(),
  before: fc.constantFrom('nothing', 'ping', 'priority', 'unknown', 'window', 'settings'),
})

/** Everything that a client sends on one connection, frame by frame. */
export function connectionOf(requests: readonly Asked[]): readonly Buffer[] {
  const frames = [PREFACE, frame(SETTINGS, 0, 0, Buffer.from([0, 3, 0, 0, 0, 100]))]
  for (const [i, own] of requests.entries()) {
    const id = 2 * i + 1
    frames.push(...betweenFrames(own.before))
    const length = own.body.join('').length
    const hasBody = own.body.length > 0 || own.trailers.length > 0
    const head = [
      [':method', own.method],
      [':scheme', 'http'],
      [':authority', 'x.test'],
      [':path', own.path],
      ...own.fields,
      ...(own.body.length > 0 && own.hasPriority ? [['content-length', String(length)]] : []),
    ] as const
    frames.push(...headersOf(id, own, blockOf(head, own.isIndexed), !hasBody))
    for (const [at, part] of own.body.entries()) {
      const isLast = at === own.body.length - 1 && own.trailers.length === 0
      frames.push(dataOf(id, own, Buffer.from(part), isLast))
    }
    if (own.trailers.length > 0) {
      const flags = END_HEADERS | END_STREAM
      frames.push(frame(HEADERS, flags, id, blockOf(own.trailers, own.isIndexed)))
    }
  }
  return frames
}

function betweenFrames(what: Asked['before']): readonly Buffer[] {
  if (what === 'ping') return [frame(PING, 0, 0, Buffer.alloc(8, 7))]
  if (what === 'priority') return [frame(PRIORITY, 0, 101, Buffer.from([0, 0, 0, 3, 9]))]
  if (what === 'unknown') return [frame(0x2a, 0xff, 0, Buffer.from('ignored'))]
  if (what === 'window') return [frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 1, 0]))]
  if (what === 'settings') return [frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0x10, 0]))]
  return []
}

export function headersOf(id: number, own: Asked, block: Buffer, ends: boolean): readonly Buffer[] {
  const first = block.subarray(0, own.firstPart)
  const rest = block.subarray(own.firstPart)
  const pad = own.padding >= 0 ? own.padding : 0
  const payload = Buffer.concat([
    ...(own.padding >= 0 ? [Buffer.from([pad])] : []),
    ...(own.hasPriority ? [Buffer.from([0, 0, 0, 0, 15])] : []),
    first,
    Buffer.alloc(pad),
  ])
  const flags =
    (rest.length === 0 ? END_HEADERS : 0) |
    (ends ? END_STREAM : 0) |
    (own.padding >= 0 ? PADDED : 0) |
    (own.hasPriority ? HAS_PRIORITY : 0)
  const frames = [frame(HEADERS, flags, id, payload)]
  if (rest.length === 0) return frames
  const half = Math.ceil(rest.length / 2)
  frames.push(frame(CONTINUATION, 0, id, rest.subarray(0, half)))
  frames.push(frame(CONTINUATION, END_HEADERS, id, rest.subarray(half)))
  return frames
}

export function dataOf(id: number, { padding }: Asked, bytes: Buffer, ends: boolean): Buffer {
  const flags = ends ? END_STREAM : 0
  if (padding < 0) return frame(DATA, flags, id, bytes)
  const payload = Buffer.concat([Buffer.from([padding]), bytes, Buffer.alloc(padding)])
  return frame(DATA, flags | PADDED, id, payload)
}

/** Literals with or without indexing; a field that equals the previous one is sent as its index. */
export function blockOf(fields: readonly (readonly string[])[], isIndexed: boolean): Buffer {
  let before = ''
  const parts = fields.map(([name = '', value = '']) => {
    const isAgain = isIndexed && before === `${name}: ${value}`
    before = `${name}: ${value}`
    if (isAgain) return Buffer.from([0x80 | 62])
    const first = Buffer.from([isIndexed ? 0x40 : 0x10])
    return Buffer.concat([first, textOf(name), textOf(value)])
  })
  return Buffer.concat(parts)
}

function textOf(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')])
}

export interface Outcome {
  /** The requests that were seen, sorted. */
  readonly seen: readonly string[]
  /** Everything that was sent. */
  readonly served: Served
  readonly isClosed: boolean
  /** All errors that were thrown. */
  readonly broken: readonly unknown[]
}

/** Feeds the pieces to our own server. */
export async function seenByUs(pieces: readonly Buffer[]): Promise<Outcome> {
  const seen: string[] = []
  const broken: unknown[] = []
  let isClosed = false
  const events: DownstreamEvents = {
    request: (downstream) => readWhole(downstream, seen),
    rejected: () => {},
    unreadable: () => {},
    aborted: () => {},
    drained: () => {},
    finished: () => {},
    broke: (_, error) => void broken.push(error),
    closed: () => {
      isClosed = true
    },
  }
  const [client, server] = duplexPair()
  const sent: Buffer[] = []
  client.on('error', () => {})
  client.resume()
  const write = server.write.bind(server)
  // A socket has copied the bytes when `write` returns, and the session reuses their buffer. This
  // stream has not.
  server.write = (bytes: Buffer) => {
    sent.push(Buffer.from(bytes))
    return write(bytes)
  }
  const deadlines = new Deadlines(10_000)
  const session = new ServerSession(server as Socket, HTTP2_LIMITS, deadlines, events)
  await feed(client, pieces)
  // The server sends everything before the client disconnects.
  for (let i = 0; i < 8; i++) await turn()
  client.end()
  // The session closes by itself once it has read everything, since the client is gone.
  for (let i = 0; i < 50 && !isClosed; i++) await turn()
  if (!isClosed) session.destroy()
  const served = readServed(Buffer.concat(sent))
  return { seen: seen.toSorted(), served, isClosed, broken }
}

/** The path of a scripted request contains the size of the response. */
function responseTo(path: string): Buffer {
  const [, size = '0'] = /^\/\d+\/(\d{1,4})\//.exec(path) ?? []
  return Buffer.alloc(Number(size), 'z')
}

function readWhole(downstream: Downstream, seen: string[]): void {
  const { head } = downstream
  const { fields } = head
  const list = Array.from(
    { length: fields.count },
    (_, i) => [fieldName(fields, i), fieldValue(fields, i)] as const,
  ).filter(([name]) => name !== 'host' && name !== 'transfer-encoding')
  const path = head.path + head.query
  let body = ''
  const sink = {
    write: (bytes: Buffer) => {
      body += bytes.toString('latin1')
      return true
    },
    end: (trailers: typeof fields | undefined) => {
      const late = Array.from(
        { length: trailers?.count ?? 0 },
        (_, i) => `${fieldName(trailers as never, i)}: ${fieldValue(trailers as never, i)}`,
      )
      seen.push(shown(head.method, path, head.host, list, body, late))
      downstream.reply(UNRECORDED, 200, NO_LINES, responseTo(path))
    },
    abort: () => {},
  }
  downstream.readBody(sink, false)
}

/** Feeds the pieces to node:http2 and waits for `count` requests. */
export async function seenByNode(
  pieces: readonly Buffer[],
  count: number,
): Promise<readonly string[]> {
  const { seen } = await servedByNode(pieces, (list) => list.length >= count)
  return seen
}

/** The same with everything that node:http2 sends, until `isEnough` returns true. */
export async function servedByNode(
  pieces: readonly Buffer[],
  isEnough: (seen: readonly string[], served: Served) => boolean,
): Promise<{ readonly seen: readonly string[]; readonly served: Served }> {
  const seen: string[] = []
  const sent: Buffer[] = []
  const [client, server] = duplexPair()
  client.on('error', () => {})
  client.on('data', (bytes: Buffer) => void sent.push(bytes))
  const session = performServerHandshake(server as Socket)
  session.on('error', () => {})
  session.on('stream', (stream, _headers, _flags, raw) => {
    const pairs = raw as unknown as readonly string[]
    const list = pairs.flatMap((name, i) =>
      i % 2 === 0 ? [[name, pairs[i + 1] ?? ''] as const] : [],
    )
    const pseudo = (name: string) => list.find(([own]) => own === name)?.[1] ?? ''
    const fields = list.filter(([name]) => !name.startsWith(':'))
    const late: string[] = []
    let body = ''
    stream.on('error', () => {})
    stream.on('trailers', (_fields, _flag, own: readonly string[]) => {
      own.forEach((name, i) => {
        if (i % 2 === 0) late.push(`${name}: ${own[i + 1]}`)
      })
    })
    stream.on('data', (bytes: Buffer) => {
      body += bytes.toString('latin1')
    })
    stream.on('end', () => {
      seen.push(shown(pseudo(':method'), pseudo(':path'), pseudo(':authority'), fields, body, late))
      if (stream.destroyed) return
      const response = responseTo(pseudo(':path'))
      stream.respond({ ':status': 200 }, { endStream: response.length === 0 })
      if (response.length > 0) stream.end(response)
    })
  })
  await feed(client, pieces)
  const served = () => readServed(Buffer.concat(sent))
  for (let i = 0; i < 2_000 && !isEnough(seen, served()); i++) await turn()
  session.destroy()
  return { seen: seen.toSorted(), served: served() }
}

/** Cookies are one field, and trailers are known only if the length of the body is not. */
export function shown(
  method: string,
  path: string,
  host: string,
  fields: readonly (readonly [string, string])[],
  body: string,
  late: readonly string[],
): string {
  const cookie = fields.filter(([name]) => name === 'cookie').map(([, value]) => value)
  const others = fields.filter(([name]) => name !== 'cookie')
  const lines = others.map(([name, value]) => `${name}: ${value}`)
  const trailers = others.some(([name]) => name === 'content-length') ? [] : late
  return JSON.stringify([method, path, host, lines, cookie.join('; '), body, trailers])
}

async function feed(client: NodeJS.WritableStream, pieces: readonly Buffer[]): Promise<void> {
  for (const piece of pieces) {
    client.write(piece)
    await turn()
  }
}
