import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { noteReplaced } from '../model/changed-range.ts'
import { carryMentions, placesMentioning } from './mentions.ts'

const thing = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 })
const things = fc.array(
  thing.map((mentions) => ({ mentions })),
  { minLength: 1, maxLength: 12 },
)

describe('places that mention a backend', () => {
  it('equal those of a full scan, however many edits ago the index was built', () => {
    const edits = fc.array(fc.record({ at: fc.nat(11), mentions: thing, isNoted: fc.boolean() }))
    const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd')).map((all) => new Set(all))
    fc.assert(
      fc.property(things, edits, names, (first, changes, asked) => {
        let list = first
        placesMentioning(list, new Set(['a']))
        for (const { at, mentions, isNoted } of changes) {
          const place = at % list.length
          const next = list.with(place, { mentions })
          if (isNoted) noteReplaced(list, next, [place])
          carryMentions(list, next)
          list = next
          const plain = list.flatMap((one, n) =>
            one.mentions.some((x) => asked.has(x)) ? [n] : [],
          )
          assert.deepEqual(placesMentioning(list, asked), plain)
        }
      }),
    )
  })
})
