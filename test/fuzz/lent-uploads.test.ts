import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { Deadlines } from '../../src/wire/deadlines.ts'
import type { DownstreamEvents } from '../../src/wire/downstream.ts'
import { HEAD_LIMITS } from '../../src/wire/http1/message.ts'
import { ServerConnection } from '../../src/wire/http1/server-connection.ts'
import { lendReads } from '../../src/wire/lent-reads.ts'
import { fill } from '../faults/patterns.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'
import { Keeper, type KeptUpload } from './upload-keeper.ts'

/**
 * Concurrent uploads on several connections, which share buffers. The receiver of a body keeps the
 * bytes that it is given without a copy, and compares them when they are reported as written. This
 * may be long after the response, while the connection already reads other requests.
 */

interface Upload extends KeptUpload {
  readonly length: number
  readonly isChunked: boolean
  /** Repeats these piece lengths until the end. */
  readonly pieces: readonly number[]
}

const upload: fc.Arbitrary<Upload> = fc.record({
  seed: fc.nat(1_000),
  length: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.nat(20_000), fc.nat(500_000)),
  isChunked: fc.boolean(),
  pieces: fc.array(fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 200_000 })), {
    minLength: 1,
    maxLength: 5,
  }),
  writesAfter: fc.constantFrom(0, 0, 1, 2, -1),
  saysWritten: fc.constantFrom(true, true, true, false),
  pausesAt: fc.constantFrom(0, 100, 50_000),
  repliesAt: fc.constantFrom(-1, -1, -1, 60_000),
})

interface Client {
  /** Sends all uploads without waiting for responses. */
  readonly isPipelined: boolean
  /** The first bytes are read and put back before the connection is served. */
  readonly hasPrelude: boolean
  readonly uploads: readonly Upload[]
}

const client: fc.Arbitrary<Client> = fc.record({
  isPipelined: fc.boolean(),
  hasPrelude: fc.boolean(),
  uploads: fc.array(upload, { minLength: 1, maxLength: 4 }),
})

/**
 * The bytes of one upload are needed until the end of all uploads; the next uploads follow
 * separately or immediately.
 */
const NEEDED_LONG: [Client[]][] = [false, true].map((isPipelined) => {
  const one = { isChunked: false, saysWritten: true, pausesAt: 0, repliesAt: -1 }
  const kept = { ...one, seed: 1, length: 300_000, pieces: [400_000], writesAfter: -1 }
  const others = [2, 3, 4].map((seed) => ({ ...kept, seed, length: 500_000, writesAfter: 0 }))
  return [[{ isPipelined, hasPrelude: false, uploads: [kept, ...others] }]]
})

const CRLF = Buffer.from('\r\n')

function messageOf({ seed, length, isChunked }: Upload, path: string): Buffer {
  const body = fill(seed, 0, length)
  const head = `POST ${path} HTTP/1.1\r\nhost: a\r\n`
  if (!isChunked)
    return Buffer.concat([Buffer.from(`${head}content-length: ${length}\r\n\r\n`), body])
  const parts: Buffer[] = [Buffer.from(`${head}transfer-encoding: chunked\r\n\r\n`)]
  for (let at = 0; at < length; ) {
    const size = Math.min(length - at, 1 + ((seed * 7 + at) % 30_000))
    parts.push(Buffer.from(`${size.toString(16)}\r\n`), body.subarray(at, at + size), CRLF)
    at += size
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')])
}

const LIMITS = {
  ...HEAD_LIMITS,
  idle: 20_000,
  headTimeout: 20_000,
  bodyTimeout: 20_000,
  writeTimeout: 20_000,
  body: Number.POSITIVE_INFINITY,
  lowersNames: false,
  upgrades: new Set(['x']),
}

describe('upload buffers', () => {
  const deadlines = new Deadlines(50)
  let clients: readonly Client[] = []
  let keepers: Keeper[][] = []
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.on('error', () => {})
    socket.once('data', (bytes: Buffer) => {
      socket.pause()
      const hasPrelude = /^POST \/\d+\/\d+\/prelude /.test(bytes.toString('latin1', 0, 40))
      // Put back in parts: bytes that arrive by events come before bytes that are read into our
      // buffer.
      if (hasPrelude) {
        socket.unshift(bytes.subarray(Math.min(7, bytes.length)))
        socket.unshift(bytes.subarray(0, 7))
      } else socket.unshift(bytes)
      new ServerConnection(socket, LIMITS, deadlines, events)
      socket.resume()
    })
  })
  const events: DownstreamEvents = {
    request: (downstream) => {
      const [, at = '', number = ''] = downstream.head.path.split('/')
      const expected = clients[Number(at)]?.uploads[Number(number)] as Upload
      const keeper = new Keeper(expected, downstream, false)
      ;(keepers[Number(at)] as Keeper[])[Number(number)] = keeper
      downstream.readBody(keeper, false)
    },
    rejected: () => {},
    unreadable: () => {},
    aborted: () => {},
    drained: () => {},
    finished: () => {},
    closed: () => {},
  }
  let port = 0
  before(async () => {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })
  after(() => server.close())

  it('are lent by this version of Node', async () => {
    const accepted = new Promise<boolean>((done) => {
      const own = createServer((socket) => {
        done(lendReads(socket) !== undefined)
        socket.destroy()
        own.close()
      }).listen(0, '127.0.0.1', () => connect((own.address() as AddressInfo).port).resume())
    })
    assert.equal(await accepted, true)
  })

  it('are not overwritten while a sink needs them', async () => {
    const property = fc.asyncProperty(
      fc.array(client, { minLength: 1, maxLength: 3 }),
      async (some) => {
        clients = some
        keepers = some.map(() => [])
        const sockets = await Promise.all(some.map((one, at) => send(port, one, at)))
        for (const [at, one] of some.entries()) {
          for (const [number, { length, repliesAt }] of one.uploads.entries()) {
            const keeper = keepers[at]?.[number]
            keeper?.compare()
            assert.equal(keeper?.fault, undefined, `connection ${at}, upload ${number}`)
            // The body after an early response need not be read.
            if (repliesAt < 0) assert.equal(keeper?.compared, length)
          }
        }
        for (const socket of sockets) socket.destroy()
      },
    )
    await assertProperty('lent-uploads', property, { ...fuzz(0.02, 40), examples: NEEDED_LONG })
  })
})

/** Resolves when every upload has its response. */
async function send(port: number, { isPipelined, hasPrelude, uploads }: Client, at: number) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  let responses = 0
  socket.on('data', (bytes) => {
    responses += bytes.toString('latin1').split('HTTP/1.1 200').length - 1
  })
  await once(socket, 'connect')
  for (const [number, one] of uploads.entries()) {
    const bytes = messageOf(one, `/${at}/${number}/${hasPrelude ? 'prelude' : 'plain'}`)
    await writePieces(socket, bytes, one.pieces)
    if (!isPipelined) await until(() => responses > number)
  }
  await until(() => responses === uploads.length)
  return socket
}

async function writePieces(socket: Socket, bytes: Buffer, pieces: readonly number[]) {
  for (let at = 0, i = 0; at < bytes.length; i++) {
    const size = pieces[i % pieces.length] as number
    // Limits the number of very small pieces, so that the test finishes.
    const end = i > 40 ? bytes.length : at + size
    socket.write(bytes.subarray(at, end))
    at = end
    if (i % 3 === 0) await turn()
  }
}

async function until(isSo: () => boolean): Promise<void> {
  const began = performance.now()
  while (!isSo()) {
    if (performance.now() - began > 20_000) throw new Error('no end')
    await turn()
  }
}
