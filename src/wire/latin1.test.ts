import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { latin1Text } from './latin1.ts'

it('latin1 decoding equals toString', () => {
  const places = fc.tuple(fc.uint8Array({ maxLength: 300 }), fc.nat(300), fc.nat(300))
  fc.assert(
    fc.property(places, ([all, one, other]) => {
      const bytes = Buffer.from(all)
      const [from = 0, to = 0] = [one, other]
        .map((at) => Math.min(at, bytes.length))
        .toSorted((a, b) => a - b)
      assert.equal(latin1Text(bytes, from, to), bytes.toString('latin1', from, to))
    }),
  )
})
