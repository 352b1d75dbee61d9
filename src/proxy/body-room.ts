import type { Room } from './kept-body.ts'
import type { Load } from './load.ts'

/** How many bodies of the max size that rules may read fit in memory at once. */
export const MAX_BODIES = 128

export function roomFor(load: Load | undefined, maxBody: number): Room | undefined {
  return (
    load && {
      retain: (bytes) => load.retain(bytes, MAX_BODIES * maxBody),
      release: (bytes) => load.release(bytes),
    }
  )
}
