import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { LayeredMap } from './layered-map.ts'

const key = fc.integer({ min: 0, max: 40 }).map(String)
const change = fc.tuple(key, fc.option(fc.integer(), { nil: undefined }))
const batches = fc.array(fc.array(change, { maxLength: 12 }), { maxLength: 20 })

describe('a layered map', () => {
  it('behaves as a plain map, and leaves earlier maps unchanged', () => {
    fc.assert(
      fc.property(batches, (all) => {
        const plain = new Map<string, number>()
        let layered = LayeredMap.of<number>(new Map())
        const seen: (readonly [LayeredMap<number>, Map<string, number>])[] = []
        for (const batch of all) {
          for (const [name, value] of batch) {
            if (value === undefined) plain.delete(name)
            else plain.set(name, value)
          }
          layered = layered.with(batch)
          seen.push([layered, new Map(plain)])
        }
        for (const [made, expected] of seen) {
          assert.equal(made.size, expected.size)
          assert.deepEqual([...made].sort(), [...expected].sort())
          for (let i = 0; i <= 40; i++) assert.equal(made.get(`${i}`), expected.get(`${i}`))
          const changed = [...made.changesTo(layered)].map(({ key: name }) => name)
          const other = [...new Set([...expected.keys(), ...plain.keys()])]
          const wanted = other.filter((name) => expected.get(name) !== plain.get(name))
          assert.deepEqual(changed.sort(), wanted.sort())
        }
      }),
    )
  })
})
