import type { Room } from './kept-body.ts'
import type { Load } from './load.ts'

/** The longest bodies that a rule may read, of which so many may be in memory at once. */
export const MAX_BODIES = 128

export function roomFor(load: Load | undefined, maxBody: number): Room | undefined {
  return (
    load && {
      retain: (bytes) => load.retain(bytes, MAX_BODIES * maxBody),
      release: (bytes) => load.release(bytes),
    }
  )
}
