import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { assertProperty } from './assert-property.ts'
import { asked, connectionOf, seenByNode, seenByUs } from './http2-connections.ts'
import { fuzz } from './runs.ts'

const requests = fc.array(asked, { maxLength: 6 })

describe('HTTP/2 connections', () => {
  it('complete connections are seen as node:http2 sees them', async () => {
    await assertProperty(
      'http2-connections',
      fc.asyncProperty(requests, async (list) => {
        const pieces = [Buffer.concat(connectionOf(list))]
        const theirs = await seenByNode(pieces, list.length)
        const ours = await seenByUs(pieces)
        assert.equal(theirs.length, list.length)
        assert.deepEqual(ours.seen, theirs)
        assert.deepEqual([ours.isClosed, ours.broken], [true, []])
      }),
      fuzz(0.2),
    )
  })

  it('they are the same wherever they are split', async () => {
    await assertProperty(
      'http2-connections-split',
      fc.asyncProperty(requests, fc.integer({ min: 1, max: 40 }), async (list, length) => {
        const whole = Buffer.concat(connectionOf(list))
        const parts: Buffer[] = []
        // Every second connection is sent byte by byte.
        const step = length % 2 === 0 ? length : 1
        for (let at = 0; at < whole.length; at += step)
          parts.push(Buffer.from(whole.subarray(at, at + step)))
        const [one, many] = await Promise.all([seenByUs([whole]), seenByUs(parts)])
        assert.equal(one.seen.length, list.length)
        assert.deepEqual(many, one)
      }),
      fuzz(0.05, 5),
    )
  })

  it('the connection ends and nothing throws, however it is mutated', async () => {
    const change = fc.record({
      at: fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
      byte: fc.integer({ min: 0, max: 255 }),
      how: fc.constantFrom('set', 'insert', 'remove', 'repeat', 'swap'),
    })
    await assertProperty(
      'http2-connections-mutated',
      fc.asyncProperty(
        requests,
        fc.array(change, { minLength: 1, maxLength: 6 }),
        async (list, changes) => {
          const frames = [...connectionOf(list)]
          let bytes = Buffer.concat(frames)
          for (const { at, byte, how } of changes) {
            const place = Math.floor(at * bytes.length)
            const which = 1 + Math.floor(at * (frames.length - 1))
            if (how === 'repeat') {
              frames.splice(which, 0, frames[which] ?? Buffer.alloc(0))
              bytes = Buffer.concat(frames)
            } else if (how === 'swap') {
              frames.push(...frames.splice(which, 1))
              bytes = Buffer.concat(frames)
            } else if (how === 'set') bytes[place] = byte
            else {
              const from = how === 'remove' ? place + 1 : place
              const put = how === 'insert' ? Buffer.from([byte]) : Buffer.alloc(0)
              bytes = Buffer.concat([bytes.subarray(0, place), put, bytes.subarray(from)])
            }
          }
          const { isClosed, broken } = await seenByUs([bytes])
          assert.deepEqual([isClosed, broken], [true, []])
        },
      ),
      fuzz(0.4),
    )
  })
})
