import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { ShortWrites } from '../../src/wire/short-writes.ts'
import { assertProperty } from './assert-property.ts'
import { fuzz } from './runs.ts'

/*
 * Connections take turns in writing, each with its own script: to the handle, to the stream,
 * corked, and to a peer that stops reading. The test compares the bytes that a peer receives with a
 * plain list of the writes. All connections share one request object for writes that finish at
 * once. Each connection writes from a buffer that it refills once everything is reported as
 * written.
 */

type Act =
  | { readonly kind: 'text' | 'bytes' | 'stream'; readonly length: number }
  | { readonly kind: 'cork' | 'uncork' | 'pause' | 'resume' | 'turn' }

/** More than the kernel can buffer. */
const MAX_LENGTH = 4_000_000
const LENGTHS = fc.oneof(
  { weight: 20, arbitrary: fc.nat(300) },
  { weight: 16, arbitrary: fc.constantFrom(0, 1, 8_192, 65_536) },
  { weight: 1, arbitrary: fc.constant(MAX_LENGTH) },
)
const ACT: fc.Arbitrary<Act> = fc.oneof(
  { weight: 5, arbitrary: acting('text') },
  { weight: 5, arbitrary: acting('bytes') },
  { weight: 2, arbitrary: acting('stream') },
  fc.constantFrom<Act>(
    { kind: 'cork' },
    { kind: 'uncork' },
    { kind: 'pause' },
    { kind: 'resume' },
    { kind: 'turn' },
  ),
)

function acting(kind: 'text' | 'bytes' | 'stream'): fc.Arbitrary<Act> {
  return LENGTHS.map((length) => ({ kind, length }))
}

/** `reset`: the peer disconnects after this many acts. */
const SCRIPT = fc.record({
  isPaused: fc.boolean(),
  acts: fc.array(ACT, { minLength: 1, maxLength: 25 }),
  reset: fc.option(fc.nat(25), { freq: 6, nil: undefined }),
})

const server = createServer()
before(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
})
after(() => server.close())

class Peers {
  readonly writes: ShortWrites
  readonly #socket: Socket
  readonly #peer: Socket
  /** What was written and has not arrived, in order. */
  readonly #due: { readonly fill: number; length: number }[] = []
  #expected = 0
  /** The source buffer, refilled when it is free. */
  readonly #lent = Buffer.alloc(MAX_LENGTH)
  #letter = 0
  #isReset = false

  static async open(): Promise<Peers> {
    const accepted = once(server, 'connection')
    const peer = connect((server.address() as AddressInfo).port, '127.0.0.1')
    const [socket] = (await accepted) as [Socket]
    return new Peers(socket, peer)
  }

  constructor(socket: Socket, peer: Socket) {
    this.#socket = socket
    this.#peer = peer
    this.writes = new ShortWrites(socket)
    peer.on('data', (bytes: Buffer) => this.#receive(bytes)).on('error', () => {})
    socket.resume().on('error', () => assert.ok(this.#isReset, 'only a peer that is gone fails'))
  }

  act(act: Act): void {
    if (act.kind === 'cork') this.#socket.cork()
    else if (act.kind === 'uncork') this.#socket.uncork()
    else if (act.kind === 'pause') this.#peer.pause()
    else if (act.kind === 'resume') this.#peer.resume()
    else if ('length' in act) this.#write(act.kind, act.length)
  }

  #write(kind: 'text' | 'bytes' | 'stream', length: number): void {
    this.#letter = (this.#letter + 1) % 200
    const fill = 32 + this.#letter
    const bytes = this.writes.isWritten ? this.#lent.subarray(0, length) : Buffer.alloc(length)
    bytes.fill(fill)
    this.#due.push({ fill, length })
    this.#expected += length
    if (kind === 'text') this.writes.write(bytes.toString('latin1'))
    else if (kind === 'bytes') this.writes.write(bytes)
    else this.#socket.write(bytes)
  }

  #receive(bytes: Buffer): void {
    for (let at = 0; at < bytes.length; ) {
      const [next] = this.#due
      assert.ok(next, 'more bytes than were written')
      const length = Math.min(next.length, bytes.length - at)
      const isSame = bytes.subarray(at, at + length).equals(Buffer.alloc(length, next.fill))
      assert.ok(isSame, 'other bytes')
      at += length
      next.length -= length
      if (next.length === 0) this.#due.shift()
    }
  }

  reset(): void {
    this.#isReset = true
    this.#peer.resetAndDestroy()
  }

  async finish(): Promise<void> {
    while (this.#socket.writableCorked > 0) this.#socket.uncork()
    if (this.#isReset) this.#socket.destroy()
    else {
      this.#peer.resume()
      const ended = once(this.#peer, 'end')
      this.#socket.end()
      await ended
      const missing = this.#due.reduce((sum, { length }) => sum + length, 0)
      assert.equal(missing, 0, 'not all bytes arrived')
      assert.equal(this.#socket.bytesWritten, this.#expected)
    }
    this.#peer.destroy()
    this.#socket.destroy()
  }
}

describe('short writes', () => {
  it('arrive complete and in order, despite other writes and disconnected peers', async () => {
    const scripts = fc.array(SCRIPT, { minLength: 1, maxLength: 4 })
    const property = fc.asyncProperty(scripts, async (all) => {
      const own: Peers[] = []
      for (let opened = 0; opened < all.length; opened++) own.push(await Peers.open())
      const longest = Math.max(...all.map(({ acts }) => acts.length))
      for (const [index, { isPaused }] of all.entries())
        if (isPaused) own[index]?.act({ kind: 'pause' })
      for (let at = 0; at < longest; at++) {
        for (const [index, peers] of own.entries()) {
          const { acts, reset } = all[index] as (typeof all)[number]
          const act = acts[at]
          if (act !== undefined) peers.act(act)
          if (at === reset) peers.reset()
        }
        if (all.some(({ acts }) => acts[at]?.kind === 'turn')) await turn()
      }
      await Promise.all(own.map((peers) => peers.finish()))
    })
    await assertProperty('short-writes', property, fuzz(0.05, 120))
  })
})
