import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { readSources } from '../../test/architecture/read-sources.ts'
import { Equivalents, equivalentOf, readEquivalents, renderEquivalent } from './equivalents.ts'
import { placesIn } from './places.ts'

const LIST = readEquivalents(readFileSync(join(import.meta.dirname, 'equivalent.txt'), 'utf8'))

const TEXT = `# a comment
src/cel/a.ts
in       if (a <   b) return c
replace  a <   b
with     a <= b
because  both give the same

src/cel/b.ts
in       f(1)
replace  1
with     2
because  it is not used
`

describe('equivalent mutants', () => {
  it('are read as blocks, and written in the same form', () => {
    const list = readEquivalents(TEXT)
    assert.equal(list.length, 2)
    assert.equal(list[0]?.reason, 'both give the same')
    assert.deepEqual(readEquivalents(list.map(renderEquivalent).join('\n')), list)
  })

  it('are an error if a field is missing', () => {
    assert.throws(() => readEquivalents('src/cel/a.ts\nin f(1)\nreplace 1\n'), /expected `with`/)
  })

  it('are found by their text on any line', () => {
    const equivalents = new Equivalents(readEquivalents(TEXT))
    const body = 'if (a <\n  b) return c\nif (a < b) return c\nif (a < b) return d'
    const text = `function f() {\n\n${body}\n}`
    const lines = placesIn({ path: 'src/cel/a.ts', text })
      .filter((place) => equivalents.has(place))
      .map(({ line }) => line)
    assert.deepEqual(lines, [5])
  })

  it('of the list each match one mutant and no other, and have a reason', () => {
    const files = new Set(LIST.map(({ file }) => file))
    const places = readSources()
      .filter(({ path }) => files.has(path))
      .flatMap(placesIn)
    const matches = Map.groupBy(places, (place) => renderEquivalent(equivalentOf(place)))
    const wrong = LIST.filter((entry) => {
      const matching = matches.get(renderEquivalent({ ...entry, reason: '?' })) ?? []
      return matching.length !== 1 || entry.reason === '?'
    })
    assert.deepEqual(wrong, [])
  })
})
