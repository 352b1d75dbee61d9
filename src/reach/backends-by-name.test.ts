import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { Backend } from '../model/backend.ts'
import { changedRange } from '../model/changed-range.ts'
import { backendsByName } from './reach.ts'

const backend = (name: string): Backend => ({
  kind: 'host',
  name,
  origin: { kind: 'object', object: 'test', field: name },
  policies: [],
  endpoints: [],
})

/** The position, the number of removed backends, and the names of the added ones. */
const edit = fc.tuple(
  fc.nat(12),
  fc.nat(3),
  fc.array(fc.constantFrom(...'abcdefgh'), { maxLength: 3 }),
)

it('backends by name are the same with and without a previous list', () => {
  fc.assert(
    fc.property(fc.array(edit, { maxLength: 12 }), (edits) => {
      let list: readonly Backend[] = []
      for (const [at, count, names] of edits) {
        const next = list.toSpliced(Math.min(at, list.length), count, ...names.map(backend))
        // Comparing the lists lets the next map build on the previous one.
        changedRange(list, next)
        const expected = new Map(next.map((one) => [one.name, one]))
        const made = backendsByName(next)
        assert.equal(made.size, expected.size)
        for (const name of 'abcdefgh') assert.equal(made.get(name), expected.get(name))
        list = next
      }
    }),
    { numRuns: 500 },
  )
})
