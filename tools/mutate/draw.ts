import { hash } from './closures.ts'
import { equivalentOf, renderEquivalent } from './equivalents.ts'
import type { Mutant, MutantPlace } from './mutant.ts'

/**
 * Mutants in random order. The share of a room grows with the square root of its size, and within
 * a room all places are equally likely. A change of the source replaces few of them.
 */
export function drawMutants(
  places: readonly MutantPlace[],
  count: number,
  seed: number,
): readonly Mutant[] {
  const rooms = [...Map.groupBy(shuffle(places, seed), ({ room }) => room).values()]
  const weights = rooms.map(({ length }) => Math.sqrt(length))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const drawn = rooms.flatMap((room, index) => {
    const share = Math.max(1, Math.round((count * (weights[index] ?? 0)) / sum))
    return room.slice(0, share)
  })
  return shuffle(drawn, seed).map((place, index) => ({ ...place, id: index + 1 }))
}

/** By the text of a mutant, not by where it is. */
function shuffle(places: readonly MutantPlace[], seed: number): readonly MutantPlace[] {
  const counts = new Map<string, number>()
  return places
    .map((place) => {
      const text = renderEquivalent(equivalentOf(place))
      const alike = counts.get(text) ?? 0
      counts.set(text, alike + 1)
      return { place, rank: hash(`${seed} ${alike} ${text}`) }
    })
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ place }) => place)
}
