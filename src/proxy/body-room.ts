import type { Room } from './kept-body.ts'
import type { Load } from './load.ts'

/** The longest bodies that a rule may read, of which so many may be in memory at once. */
export const MOST_BODIES = 128

export function roomFor(load: Load | undefined, mostBody: number): Room | undefined {
  return (
    load && {
      keep: (octets) => load.keep(octets, MOST_BODIES * mostBody),
      letGo: (octets) => load.letGo(octets),
    }
  )
}
