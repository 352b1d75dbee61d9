import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { HeldBytes } from './held-bytes.ts'

describe('held bytes', () => {
  it('equal the bytes sent, however they are split and consumed', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.nat(60))), (steps) => {
        const held = new HeldBytes()
        let expected = Buffer.alloc(0)
        for (const [bytes, taken] of steps) {
          const joined = held.join(Buffer.from(bytes))
          expected = Buffer.concat([expected, bytes])
          assert.deepEqual(joined, expected)
          const at = Math.min(taken, joined.length)
          held.hold(joined, at)
          expected = expected.subarray(at)
        }
        assert.deepEqual(held.take(), expected)
        assert.equal(held.length, 0)
      }),
    )
  })

  it('copy little for single bytes', () => {
    const held = new HeldBytes()
    let buffers = 0
    let last: ArrayBufferLike | undefined
    for (let i = 0; i < 30_000; i++) {
      const joined = held.join(Buffer.of(i & 255))
      if (joined.buffer !== last) buffers++
      last = joined.buffer
      held.hold(joined, 0)
    }
    assert.ok(buffers < 10, `${buffers} buffers`)
    assert.equal(held.length, 30_000)
  })
})
