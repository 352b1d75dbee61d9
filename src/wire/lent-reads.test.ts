import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { keepable, LentReads } from './lent-reads.ts'

const RECORD = 16_384

/** Simulates one read of a socket; returns the buffer for the next read. */
function read(reads: LentReads, buffer: Buffer, length: number, value: number): Buffer {
  buffer.fill(value, 0, length)
  reads.received(length)
  return reads.next()
}

/** A reader that keeps its bytes, and needs them as long as `needs` is set. */
function keeper(reads: LentReads) {
  const received: Buffer[] = []
  const own = { received, needs: true }
  reads.use({
    receive: (bytes, from, to) => void received.push(keepable(bytes, from, to)),
    needsBytes: () => own.needs,
  })
  return own
}

it('delivers the records of one turn together, and never overwrites needed bytes', async () => {
  const reads = new LentReads(true, true)
  const { received } = keeper(reads)
  let buffer = reads.next()
  // The first read fills the shared small buffer, and is copied out of it.
  buffer = read(reads, buffer, RECORD, 1)
  assert.deepEqual(
    received.map(({ length }) => length),
    [RECORD],
  )
  for (const value of [2, 3, 4]) buffer = read(reads, buffer, RECORD, value)
  assert.equal(received.length, 1)
  await turn()
  assert.equal(received[1]?.length, 3 * RECORD)
  // Another turn continues after the needed bytes, up to the end of the buffer and beyond.
  for (const value of [5, 6, 7, 8, 9, 10]) buffer = read(reads, buffer, RECORD, value)
  await turn()
  const all = Buffer.concat(received)
  assert.equal(all.length, 10 * RECORD)
  for (let i = 0; i < 10; i++)
    assert.ok(all.subarray(i * RECORD, (i + 1) * RECORD).every((value) => value === i + 1))
})

it('reuses the buffer once nothing of it is needed', async () => {
  const reads = new LentReads(true, true)
  const own = keeper(reads)
  own.needs = false
  let buffer = read(reads, reads.next(), RECORD, 1)
  const memory = buffer.buffer
  for (let value = 2; value < 40; value++) buffer = read(reads, buffer, RECORD, value)
  await turn()
  assert.equal(buffer.buffer, memory)
  assert.equal(Buffer.concat(own.received).length, 39 * RECORD)
})

it('releases a large buffer when the reader is idle', async () => {
  const reads = new LentReads(true, true)
  const own = keeper(reads)
  own.needs = false
  const small = reads.next()
  let buffer = read(reads, small, RECORD, 1)
  assert.notEqual(buffer.buffer, small.buffer)
  buffer = read(reads, buffer, 100, 2)
  await turn()
  reads.isResting = true
  buffer = read(reads, buffer, 50, 3)
  assert.equal(buffer.buffer, small.buffer)
  assert.equal(own.received.at(-1)?.length, 50)
})

it('without gathering, delivers each read at once', () => {
  const reads = new LentReads(true)
  const { received } = keeper(reads)
  let buffer = read(reads, reads.next(), RECORD, 1)
  buffer = read(reads, buffer, 100_000, 2)
  buffer = read(reads, buffer, 10, 3)
  assert.deepEqual(
    received.map(({ length }) => length),
    [RECORD, 100_000, 10],
  )
  assert.ok(buffer.length > 0)
})

it('uses two buffers if each read is written before the next one arrives', () => {
  const reads = new LentReads()
  const own = keeper(reads)
  let buffer = read(reads, reads.next(), 8_192, 1)
  const used = new Set<ArrayBufferLike>()
  for (let value = 2; value < 60; value++) {
    used.add(buffer.buffer)
    // The last write is over when the read arrives, and its own is in progress after it (as in
    // TLS).
    own.needs = false
    buffer.fill(value)
    const given = own.received.length
    reads.use({
      receive: (bytes, from, to) => {
        own.needs = true
        own.received.push(keepable(bytes, from, to))
      },
      needsBytes: () => own.needs,
    })
    reads.received(buffer.length)
    buffer = reads.next()
    assert.ok(own.received[given]?.every((byte) => byte === value))
  }
  assert.ok(used.size <= 2, `${used.size} buffers`)
})

it('reclaims buffers that are no longer needed while later ones are', () => {
  const reads = new LentReads()
  const own = { since: Number.POSITIVE_INFINITY, received: [] as Buffer[] }
  reads.use({
    receive: (bytes, from, to) => void own.received.push(keepable(bytes, from, to)),
    needsBytes: () => true,
    neededSince: () => own.since,
  })
  let buffer = read(reads, reads.next(), 8_192, 1)
  const used = new Set<ArrayBufferLike>()
  for (let turn = 2; turn < 80; turn++) {
    used.add(buffer.buffer)
    const given = own.received.length
    // Streams that take turns: there is always one that has not written its last bytes.
    own.since = reads.buffers - 3
    buffer = read(reads, buffer, buffer.length, turn)
    for (let at = Math.max(0, given - 3); at <= given; at++)
      assert.ok(own.received[at]?.every((byte) => byte === at + 1))
  }
  assert.ok(used.size <= 6, `${used.size} buffers`)
})

it('reports when so much is lent that more should be copied, and when no longer', () => {
  const reads = new LentReads()
  const own = { since: 0 }
  reads.use({ receive: () => {}, needsBytes: () => true, neededSince: () => own.since })
  let buffer = read(reads, reads.next(), 8_192, 1)
  assert.equal(reads.isScarce, false)
  for (let turn = 0; turn < 20; turn++) buffer = read(reads, buffer, buffer.length, 2)
  assert.equal(reads.isScarce, true)
  own.since = Number.POSITIVE_INFINITY
  read(reads, buffer, 1, 3)
  assert.equal(reads.isScarce, false)
  reads.close()
})
