import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { placesIn } from './places.ts'

/** All mutants of a file in src, as `original → replacement`. */
function mutantsOf(text: string): readonly string[] {
  return placesIn({ path: 'src/cel/a.ts', text }).map(
    ({ original, replacement }) => `${original} → ${replacement}`,
  )
}

describe('mutants of a file', () => {
  for (const [code, ...mutants] of [
    ['const f = (a, b) => a < b', 'a < b → a <= b'],
    ['const f = (a, b) => a && b', 'a && b → a || b'],
    ['const f = (a, b) => a ?? b', 'a ?? b → a'],
    ['if (a) b()', 'a → true', 'a → false', 'b() → undefined'],
    ['const c = a ? b : d', 'a → true', 'a → false'],
    ['while (a) b()', 'a → false', 'b() → undefined'],
    ['const b = !a', '!a → a'],
    ['function f() { return true }', 'true → false'],
    ['function f() { return g(1) }', 'g(1) → undefined', '1 → 2'],
    ['const f = (a) => a.b', 'a.b → undefined'],
    ['f(0x10, 30_000)', 'f(0x10, 30_000) → undefined', '0x10 → 17'],
    ['const c = [...a, b]', '[...a, b] → []', 'a → []'],
    ['const c = { ...a }', 'a → {}'],
    ['const c = a.some(b)', 'a.some(b) → a.every(b)'],
    ['const c = a.filter(b)', 'a.filter(b) → a'],
    ['const c = a.toString()'],
    ["const c = a + 'text'"],
    ["throw new Error(a ? 'b' : 'c')"],
    ["report({ message: a ? 'b' : 'c' })", "report({ message: a ? 'b' : 'c' }) → undefined"],
    ['const c: 1 | true = a as 2'],
    ['while (true) break'],
    ['const c = a?.filter(b).length'],
  ] as const) {
    it(`${code} has ${mutants.length === 0 ? 'none' : mutants.join(', ')}`, () => {
      assert.deepEqual(mutantsOf(code).toSorted(), mutants.toSorted())
    })
  }

  it('have their room, line and the text of the line', () => {
    const [place] = placesIn({
      path: 'src/controller/translate/a.ts',
      text: 'type A = 1\n  const  c = 1',
    })
    assert.equal(place?.room, 'controller/translate')
    assert.equal(place?.line, 2)
    assert.equal(place?.lineText, 'const c = 1')
  })

  it('know whether they are in a function, or run when the module is loaded', () => {
    const places = placesIn({ path: 'src/cel/a.ts', text: 'const c = !a\nconst f = () => !b' })
    assert.deepEqual(
      places.map(({ isTopLevel }) => isTopLevel),
      [true, false],
    )
  })

  it('are an error if the file cannot be parsed', () => {
    assert.throws(() => placesIn({ path: 'src/cel/a.ts', text: 'const = 1' }), /src\/cel\/a\.ts/)
  })
})
