import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { combine, hashLanes, hashText, textOf } from './hash.ts'

const PRIMES = [0x9e3779b1, 0x85ebca6b, 0xc2b2ae35, 0x27d4eb2f]

/** A plain implementation of the same hash, over any list of numbers. */
function plain(units: readonly number[]): string {
  const lanes = [...PRIMES]
  for (const unit of units) {
    for (let lane = 0; lane < 4; lane++) {
      const product = Math.imul((lanes[lane] as number) ^ unit, PRIMES[lane] as number)
      lanes[lane] = (lanes[(lane + 1) % 4] as number) ^ product
    }
  }
  return lanes
    .map((lane, index) => {
      let mixed = lane ^ Math.imul(units.length, PRIMES[index] as number)
      mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
      mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
      return ((mixed ^ (mixed >>> 16)) >>> 0).toString(16).padStart(8, '0')
    })
    .join('')
}

describe('versions of Model parts', () => {
  it('hash the UTF-16 units of the string', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const units = Array.from(text.split(''), (unit) => unit.charCodeAt(0))
        assert.equal(hashText(text), plain(units))
        assert.equal(textOf(hashLanes(text)), plain(units))
      }),
    )
  })

  it('hash all numbers of the combined hashes', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (texts) => {
        const hashes = texts.map(hashLanes)
        assert.equal(combine(hashes), plain(hashes.flat()))
      }),
    )
  })

  it('are stable across releases', () => {
    assert.equal(hashText('{"a":1}'), 'cda568d9788326f9186575b5534dbd3d')
  })
})
