import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Cluster } from '../upstream/cluster.ts'
import type { HeaderReads } from './headers-read.ts'
import { allUses, Uses } from './uses.ts'
import { type UsesList, UsesTally } from './uses-tally.ts'

const diagnostic = (message: string): Diagnostic => ({
  code: 'PC0404',
  severity: 'warning',
  message,
  origin: { kind: 'object', object: message, field: '' },
})

/** Uses that share others; rarely with diagnostics, or with two values for one key. */
const forest = fc
  .array(
    fc.record({
      state: fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 0, max: 20 }))),
      cluster: fc.option(fc.integer({ min: 0, max: 3 })),
      headers: fc.array(fc.constantFrom('x-a', 'x-b', 'x-c'), { maxLength: 2 }),
      isAll: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
      isReported: fc.integer({ min: 0, max: 30 }).map((n) => n === 0),
      parts: fc.array(fc.nat(), { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((drafts) => {
    const made: Uses[] = []
    for (const [index, draft] of drafts.entries()) {
      const uses = new Uses()
      for (const [key, number] of draft.state) {
        uses.add('state', [key, number === 0 ? 'other' : key])
      }
      if (draft.cluster !== null) {
        const name = `cluster ${draft.cluster}`
        uses.add('clusters', [name, name as unknown as Cluster])
      }
      if (draft.headers.length > 0 || draft.isAll) {
        uses.add('headers', {
          names: new Set(draft.headers),
          all: draft.isAll,
        } as unknown as HeaderReads)
      }
      if (draft.isReported) uses.add('diagnostics', diagnostic(`message ${index}`))
      for (const part of draft.parts) if (index > 0) uses.link(made[part % index] as Uses)
      made.push(uses)
    }
    return made
  })

/** Lists whose content changes repeatedly. */
const edits = fc.array(
  fc.record({
    list: fc.constantFrom('one', 'two', 'three'),
    at: fc.nat({ max: 8 }),
    removed: fc.nat({ max: 3 }),
    added: fc.array(fc.nat(), { maxLength: 3 }),
  }),
  { maxLength: 20 },
)

describe('UsesTally', () => {
  it('equals a full scan after any changes', () => {
    fc.assert(
      fc.property(forest, edits, (uses, changes) => {
        const tally = new UsesTally()
        let lists: ReadonlyMap<string, UsesList> = new Map()
        for (const { list, at, removed, added } of changes) {
          const parts = added.map((n) => ({ uses: uses[n % uses.length] as Uses }))
          const known = lists.get(list) ?? []
          lists = new Map([...lists, [list, known.toSpliced(at, removed, ...parts)]])
          if (lists.get(list)?.length === 0) {
            lists = new Map([...lists].filter(([name]) => name !== list))
          }
          const [found, wanted] = [tally.update(lists), allUses(lists.values())]
          assert.deepEqual(new Map([...found.state].sort()), new Map([...wanted.state].sort()))
          assert.deepEqual([...found.clusters].sort(), [...wanted.clusters].sort())
          assert.deepEqual(
            [...found.headersRead.names].sort(),
            [...wanted.headersRead.names].sort(),
          )
          assert.equal(found.headersRead.all, wanted.headersRead.all)
          assert.deepEqual(found.diagnostics, wanted.diagnostics)
        }
      }),
      { numRuns: 500 },
    )
  })

  it('visits only what changed', () => {
    const tally = new UsesTally()
    const parts = Array.from({ length: 1_000 }, () => watched())
    tally.update(new Map([['routes', parts]]))
    for (const { looks } of parts) looks.count = 0
    const other = watched()
    const { state } = tally.update(new Map([['routes', parts.with(500, other)]]))
    assert.equal(other.looks.count, 1)
    const looked = parts.filter(({ looks }) => looks.count > 0)
    assert.deepEqual(looked, [parts[500]])
    assert.deepEqual([...state], [['key', 'kept']])
  })

  /** Counts reads of its state. */
  function watched() {
    const looks = { count: 0 }
    const uses = new Uses()
    const state = [['key', 'kept']]
    Object.defineProperty(uses, 'state', {
      get: () => {
        looks.count++
        return state
      },
    })
    return { uses, looks }
  }
})
