import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { HeldBody } from './held-body.ts'

const step = fc.record({
  length: fc.integer({ min: 1, max: 50 }),
  buffer: fc.integer({ min: -1, max: 3 }),
  takes: fc.boolean(),
})

it('a held body returns its bytes in order, and counts which are lent', () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const held = new HeldBody()
      let [given, taken, value] = ['', '', 0]
      const lent = new Map<Buffer, number>()
      const take = () => {
        const bytes = held.take()
        taken += bytes.toString('latin1')
        assert.equal(held.buffer, lent.get(bytes) ?? -1)
        lent.delete(bytes)
      }
      for (const { length, buffer, takes } of steps) {
        const bytes = Buffer.alloc(length, value++)
        given += bytes.toString('latin1')
        held.hold(bytes, buffer)
        if (buffer >= 0) lent.set(bytes, buffer)
        // Bytes that are not lent were copied.
        else bytes.fill(0xff)
        if (takes) take()
        assert.equal(held.lent, lent.size)
        assert.equal(held.length, given.length - taken.length)
      }
      while (held.length > 0) take()
      assert.equal(taken, given)
      assert.equal(held.take().length, 0)
    }),
  )
})

it('a held body is empty after it is cleared', () => {
  const held = new HeldBody()
  held.hold(Buffer.from('ab'), -1)
  held.hold(Buffer.from('cde'), 7)
  assert.equal(held.clear(), 5)
  assert.deepEqual([held.length, held.lent, held.take().length], [0, 0, 0])
})
