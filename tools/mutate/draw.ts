import { Random } from '../../test/truth/random.ts'
import type { Mutant, MutantPlace } from './mutant.ts'

/**
 * Mutants in random order. The share of a room grows with the square root of its size, and within
 * a room all places are equally likely.
 */
export function drawMutants(
  places: readonly MutantPlace[],
  count: number,
  seed: number,
): readonly Mutant[] {
  const random = new Random(seed)
  const rooms = [...Map.groupBy(places, ({ room }) => room).values()]
  const weights = rooms.map(({ length }) => Math.sqrt(length))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  const drawn = rooms.flatMap((room, index) => {
    const share = Math.max(1, Math.round((count * (weights[index] ?? 0)) / sum))
    return shuffle(room, random).slice(0, share)
  })
  return shuffle(drawn, random).map((place, index) => ({ ...place, id: index + 1 }))
}

function shuffle<T>(list: readonly T[], random: Random): readonly T[] {
  const shuffled = [...list]
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = random.int(i + 1)
    const item = shuffled[i] as T
    shuffled[i] = shuffled[j] as T
    shuffled[j] = item
  }
  return shuffled
}
