import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { drawMutants } from './draw.ts'
import { placesIn } from './places.ts'

const PLACES = [
  ...placesIn({ path: 'src/cel/a.ts', text: 'f(1)\n'.repeat(200) }),
  ...placesIn({ path: 'src/wire/a.ts', text: 'f(1)\n'.repeat(50) }),
]

describe('a draw of mutants', () => {
  it('is the same for the same seed, and another for another', () => {
    assert.deepEqual(drawMutants(PLACES, 30, 1), drawMutants(PLACES, 30, 1))
    assert.notDeepEqual(drawMutants(PLACES, 30, 1), drawMutants(PLACES, 30, 2))
  })

  it('keeps most mutants when the source changes', () => {
    const places = (text: string) => placesIn({ path: 'src/cel/a.ts', text })
    const text = Array.from({ length: 200 }, (_, index) => `f${index}(1)`).join('\n')
    const textsOf = (code: string) =>
      drawMutants(places(code), 30, 1).map(({ original, lineText }) => `${original} in ${lineText}`)
    const before = textsOf(text)
    const after = textsOf(`f(2)\n${text.replace('f7(1)\n', '')}`)
    assert.ok(before.filter((mutant) => after.includes(mutant)).length >= 26)
  })

  it('has a share for each room that grows with the square root of its size', () => {
    const rooms = Map.groupBy(drawMutants(PLACES, 30, 1), ({ room }) => room)
    assert.equal(rooms.get('cel')?.length, 20)
    assert.equal(rooms.get('wire')?.length, 10)
  })

  it('has each mutant once, with numbers from 1', () => {
    const mutants = drawMutants(PLACES, 100_000, 1)
    assert.equal(
      new Set(mutants.map(({ file, start, end }) => `${file} ${start} ${end}`)).size,
      500,
    )
    assert.deepEqual(
      mutants.map(({ id }) => id),
      mutants.map((_, index) => index + 1),
    )
  })
})
