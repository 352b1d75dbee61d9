import { connect } from 'node:http2'
import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fieldBlock,
  frame,
  HEADERS,
} from '../proxy/http2-gateway.ts'
import { NO_SETTINGS, ScriptedUpstream } from '../proxy/scripted-upstream.ts'
import { readServed, type Served } from './http2-served.ts'

const [PRIORITY, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION] = [2, 4, 6, 8, 9]
const PADDED = 0x8

export interface ScriptedResponse {
  readonly status: number
  readonly interim: readonly number[]
  readonly fields: readonly (readonly [string, string])[]
  readonly body: readonly string[]
  readonly trailers: readonly (readonly [string, string])[]
  readonly hasLength: boolean
  readonly padding: number
  /** Bytes of the block in the HEADERS frame; the rest is in CONTINUATION frames. */
  readonly firstPart: number
  readonly before: 'nothing' | 'ping' | 'priority' | 'unknown' | 'window' | 'settings'
  /** The position of each frame in the order of all responses. */
  readonly turns: readonly number[]
}

const field = fc.tuple(
  fc.constantFrom('x-a', 'x-b', 'server', 'etag', 'content-type'),
  fc.stringMatching(/^[!-~]([ -~]{0,40}[!-~])?$/),
)

export const scriptedResponse: fc.Arbitrary<ScriptedResponse> = fc.record({
  status: fc.constantFrom(200, 201, 204, 304, 404, 418, 500, 599),
  interim: fc.array(fc.constantFrom(100, 103), { maxLength: 2 }),
  fields: fc.uniqueArray(field, { maxLength: 5, selector: ([name]) => name }),
  body: fc.array(fc.stringMatching(/^[a-z]{0,300}$/), { maxLength: 4 }),
  trailers: fc.uniqueArray(
    fc.tuple(fc.constantFrom('x-t', 'grpc-status'), fc.constantFrom('1', 'two')),
    {
      maxLength: 2,
      selector: ([name]) => name,
    },
  ),
  hasLength: fc.boolean(),
  padding: fc.constantFrom(-1, -1, 0, 1, 200),
  firstPart: fc.constantFrom(100_000, 100_000, 0, 1, 7),
  before: fc.constantFrom('nothing', 'ping', 'priority', 'unknown', 'window', 'settings'),
  turns: fc.array(fc.nat(1_000), { minLength: 12, maxLength: 12 }),
})

/** Everything that an upstream sends on one connection, frame by frame; streams take turns. */
export function framesOf(responses: readonly ScriptedResponse[]): readonly Buffer[] {
  const placed = responses.flatMap((own, i) => {
    let place = 0
    return responseOf(2 * i + 1, own).map((bytes, at) => {
      place = Math.max(place, own.turns[at] ?? place) + 1e-3
      return { bytes, place }
    })
  })
  return placed.toSorted((a, b) => a.place - b.place).map(({ bytes }) => bytes)
}

/** A head and its CONTINUATION frames are one piece, since no other frame may come between them. */
export function responseOf(id: number, own: ScriptedResponse): readonly Buffer[] {
  const isBodiless = own.status === 204 || own.status === 304
  const body = isBodiless ? [] : own.body
  const hasMore = body.length > 0 || (own.trailers.length > 0 && !isBodiless)
  const length = body.join('').length
  const head = [
    [':status', String(own.status)] as const,
    ...own.fields,
    ...(own.hasLength && body.length > 0 ? [['content-length', String(length)] as const] : []),
  ]
  const pieces: Buffer[] = [Buffer.concat(betweenFrames(own.before))]
  for (const status of own.interim)
    pieces.push(frame(HEADERS, END_HEADERS, id, fieldBlock([[':status', String(status)]])))
  pieces.push(headersOf(id, own, fieldBlock(head), !hasMore))
  const isFollowed = own.trailers.length > 0 && !isBodiless
  for (const [at, part] of body.entries())
    pieces.push(dataOf(id, own, Buffer.from(part), at === body.length - 1 && !isFollowed))
  if (isFollowed)
    pieces.push(frame(HEADERS, END_HEADERS | END_STREAM, id, fieldBlock(own.trailers)))
  return pieces
}

function betweenFrames(what: ScriptedResponse['before']): readonly Buffer[] {
  if (what === 'ping') return [frame(PING, 0, 0, Buffer.alloc(8, 7))]
  if (what === 'priority') return [frame(PRIORITY, 0, 1, Buffer.from([0, 0, 0, 3, 9]))]
  if (what === 'unknown') return [frame(0x2a, 0xff, 0, Buffer.from('ignored'))]
  if (what === 'window') return [frame(WINDOW_UPDATE, 0, 0, Buffer.from([0, 0, 1, 0]))]
  if (what === 'settings') return [frame(SETTINGS, 0, 0, Buffer.from([0, 4, 0, 0, 0x10, 0]))]
  return []
}

function headersOf(id: number, own: ScriptedResponse, block: Buffer, ends: boolean): Buffer {
  const rest = block.subarray(own.firstPart)
  const pad = own.padding >= 0 ? own.padding : 0
  const payload = Buffer.concat([
    ...(own.padding >= 0 ? [Buffer.from([pad])] : []),
    block.subarray(0, own.firstPart),
    Buffer.alloc(pad),
  ])
  const flags =
    (rest.length === 0 ? END_HEADERS : 0) |
    (ends ? END_STREAM : 0) |
    (own.padding >= 0 ? PADDED : 0)
  if (rest.length === 0) return frame(HEADERS, flags, id, payload)
  const half = Math.ceil(rest.length / 2)
  return Buffer.concat([
    frame(HEADERS, flags, id, payload),
    frame(CONTINUATION, 0, id, rest.subarray(0, half)),
    frame(CONTINUATION, END_HEADERS, id, rest.subarray(half)),
  ])
}

function dataOf(id: number, { padding }: ScriptedResponse, bytes: Buffer, ends: boolean): Buffer {
  const flags = ends ? END_STREAM : 0
  if (padding < 0) return frame(DATA, flags, id, bytes)
  const payload = Buffer.concat([Buffer.from([padding]), bytes, Buffer.alloc(padding)])
  return frame(DATA, flags | PADDED, id, payload)
}

export interface Outcome {
  /** The events reported for each response, in the order of the requests. */
  readonly told: readonly string[]
  /** The number of requests whose end was never reported. */
  readonly open: number
}

/** The same with everything that the client sent. */
export interface Heard extends Outcome {
  readonly served: Served
}

/** Feeds the bytes to our own client in pieces of `length` bytes. */
export async function toldByUs(bytes: Buffer, count: number, length?: number): Promise<Outcome> {
  const { told, open } = await heardByUs(bytes, count, length)
  return { told, open }
}

export async function heardByUs(bytes: Buffer, count: number, length?: number): Promise<Heard> {
  const upstream = new ScriptedUpstream()
  await upstream.say(NO_SETTINGS)
  const asked = Array.from({ length: count }, () => upstream.ask())
  await turn()
  await upstream.say(bytes, length)
  // Requests that the upstream does not end are ended by the close of its connection.
  upstream.close()
  for (let i = 0; i < 5; i++) await turn()
  const told = asked.map(({ reported }) => reported.join('|'))
  const isOver = (own: string) => /(^|\|)(ended|failed)/.test(own)
  return { told, open: told.filter((own) => !isOver(own)).length, served: upstream.served }
}

/** Feeds the bytes to node:http2. */
export async function toldByNode(bytes: Buffer, count: number): Promise<readonly string[]> {
  const { told } = await heardByNode(bytes, count, () => false)
  return told
}

/** `isEnough`: returns true if no more requests will end. */
export async function heardByNode(
  bytes: Buffer,
  count: number,
  isEnough: (served: () => Served) => boolean,
): Promise<Heard> {
  const [ours, theirs] = duplexPair()
  const sent: Buffer[] = []
  theirs.on('error', () => {})
  theirs.on('data', (own: Buffer) => void sent.push(own))
  // The client's bytes begin with the preface.
  const served = () => readServed(Buffer.concat(sent).subarray(24))
  const session = connect('http://x', { createConnection: () => ours as Socket })
  session.on('error', () => {})
  theirs.write(NO_SETTINGS)
  const told = Array.from({ length: count }, (): string[] => [])
  let over = 0
  for (const own of told) {
    const stream = session.request({ ':path': '/' })
    let trailers = ''
    let body = ''
    let isOver = false
    const end = (what: string) => {
      if (isOver) return
      isOver = true
      if (body !== '') own.push(`data ${body}`)
      own.push(what)
      over++
    }
    stream.on('error', () => end('failed'))
    // A reset without an error in the middle of a response.
    stream.on('aborted', () => end('failed'))
    stream.on('headers', (headers) => void own.push(`interim ${headers[':status']}`))
    stream.on('response', (_headers, _flags, raw) => own.push(shown(raw as never)))
    stream.on('trailers', (_headers, _flags, raw) => {
      trailers = ` ${shown(raw as never)}`
    })
    stream.on('data', (chunk: Buffer) => {
      body += chunk
    })
    stream.on('end', () => end(`ended${trailers}`))
  }
  for (let i = 0; i < 3; i++) await turn()
  theirs.write(bytes)
  for (let i = 0; i < 2_000 && over < count && !isEnough(served); i++) await turn()
  session.destroy()
  return { told: told.map((own) => own.join('|')), open: count - over, served: served() }
}

function shown(raw: readonly string[]): string {
  return raw
    .flatMap((name, i) => {
      if (i % 2 === 1) return []
      return name === ':status' ? [raw[i + 1]] : [`${name}=${raw[i + 1]}`]
    })
    .join(' ')
}
