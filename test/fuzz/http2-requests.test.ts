import assert from 'node:assert/strict'
import { performServerHandshake } from 'node:http2'
import type { Socket } from 'node:net'
import { duplexPair } from 'node:stream'
import { describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { Deadlines } from '../../src/wire/deadlines.ts'
import { ClientSession } from '../../src/wire/http2/client.ts'
import { SESSION_OPTIONS } from '../../src/wire/http2/client-limits.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

const field = fc.tuple(
  fc.constantFrom('x-a', 'x-b', 'authorization', 'x-api-key', 'user-agent', 'grpc-timeout'),
  fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/),
)

const asked = fc.record({
  method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
  path: fc.constantFrom('/', '/a', '/svc.Echo/Say', '/a?b=c', '/a?b=d', `/${'long'.repeat(300)}`),
  fields: fc.uniqueArray(field, { maxLength: 5, selector: ([name]) => name }),
  /** Lengths of the pieces in which the body is written; none: no body. */
  body: fc.array(fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 60_000 })), {
    maxLength: 4,
  }),
  isChunked: fc.boolean(),
  trailer: fc.constantFrom('', '', 'x-late'),
})

/** Settings that a server may send. */
const wishes = fc.record({
  headerTableSize: fc.constantFrom(0, 64, 200, 4_096, 65_536),
  initialWindowSize: fc.constantFrom(0x7fffffff, 65_535, 1_000, 1),
  maxFrameSize: fc.constantFrom(16_384, 100_000),
})

type Asked = typeof asked extends fc.Arbitrary<infer Own> ? Own : never
type Wishes = typeof wishes extends fc.Arbitrary<infer Own> ? Own : never

const lengthOf = ({ body }: Asked) => body.reduce((sum, piece) => sum + piece, 0)

function shown(own: Asked): string {
  const fields = own.fields.map(([name, value]) => `${name}: ${value}`)
  const trailer = own.body.length > 0 && own.isChunked ? own.trailer : ''
  return JSON.stringify([own.method, own.path, 'x.test', fields, lengthOf(own), trailer])
}

/** Returns our client's requests as a node:http2 server sees them, in the order of the streams. */
async function seenByNode(list: readonly Asked[], settings: Wishes): Promise<readonly string[]> {
  const [ours, theirs] = duplexPair()
  const server = performServerHandshake(theirs as Socket, { settings })
  const seen: string[] = []
  let count = 0
  server.on('error', () => {})
  server.on('stream', (stream, _headers, _flags, raw) => {
    const pairs = raw as unknown as readonly string[]
    const list = pairs.flatMap((name, i) => (i % 2 === 0 ? [[name, pairs[i + 1]] as const] : []))
    const pseudo = (name: string) => list.find(([own]) => own === name)?.[1]
    const fields = list.filter(([name]) => !name.startsWith(':') && name !== 'content-length')
    const lines = fields.map(([name, value]) => `${name}: ${value}`)
    let [length, trailer] = [0, '']
    stream.on('error', () => {})
    stream.on('trailers', (own) => {
      trailer = Object.keys(own).join()
    })
    stream.on('data', (bytes: Buffer) => {
      length += bytes.length
    })
    stream.on('end', () => {
      const [method, path, authority] = [':method', ':path', ':authority'].map(pseudo)
      seen[(Number(stream.id) - 1) / 2] = JSON.stringify([
        method,
        path,
        authority,
        lines,
        length,
        trailer,
      ])
      count++
      stream.respond({ ':status': 204 }, { endStream: true })
    })
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  const session = new ClientSession(ours as Socket, SESSION_OPTIONS, new Deadlines(10_000), {
    ready: () => resolve(),
    freed() {},
    closed() {},
  })
  await promise
  let over = 0
  for (const own of list) {
    const stream = session.open()
    stream.send(own.method, headOf(own), own.body.length > 0, 60_000, {
      idleTimeout: 60_000,
      interim() {},
      response: () => false,
      data: () => true,
      ended: () => void over++,
      failed: (reason) => void seen.push(reason),
      drained() {},
    })
    for (const size of own.body) {
      if (own.isChunked) stream.writeText(`${size.toString(16)}\r\n`)
      stream.write(Buffer.alloc(size, 'x'))
      if (own.isChunked) stream.writeText('\r\n')
    }
    if (own.body.length === 0) continue
    const trailer = own.trailer === '' ? '' : `${own.trailer}: 1\r\n`
    if (own.isChunked) stream.writeText(`0\r\n${trailer}\r\n`)
    stream.end()
  }
  for (let i = 0; i < 200_000 && (count < list.length || over < list.length); i++) await turn()
  session.destroy('closed')
  server.destroy()
  return seen
}

function headOf(own: Asked): string {
  const lines = own.fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  const length = own.isChunked ? 'transfer-encoding: chunked' : `content-length: ${lengthOf(own)}`
  const framing = own.body.length === 0 ? '' : `${length}\r\n`
  return `${own.method} ${own.path} HTTP/1.1\r\nhost: x.test\r\n${lines}${framing}\r\n`
}

describe('requests to HTTP/2 upstreams', () => {
  it('reach node:http2 unchanged, whatever its settings', async () => {
    await assertProperty(
      'http2-requests',
      fc.asyncProperty(fc.array(asked, { maxLength: 8 }), wishes, async (list, settings) => {
        // With a window of one byte, each byte takes a turn.
        const isSlow = settings.initialWindowSize < 2_000
        const own = isSlow ? list.map((one) => ({ ...one, body: one.body.slice(0, 1) })) : list
        const few = isSlow
          ? own.map((one) => ({ ...one, body: one.body.map((n) => n % 50 || 1) }))
          : own
        assert.deepEqual(await seenByNode(few, settings), few.map(shown))
      }),
      fuzz(0.1, 30),
    )
  })
})
