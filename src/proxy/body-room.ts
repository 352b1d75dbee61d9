import type { Room } from './kept-body.ts'
import type { Load } from './load.ts'

/** How many bodies of the max size that rules may read fit in memory at once. */
export const MAX_BODIES = 128

/** How many of the largest calls to models have room at once, whatever `maxBody` is. */
export const MAX_MODEL_BODIES = 4
/** A call is read, and written for its provider: its bytes are in memory as often. */
export const MODEL_COPIES = 2

export function roomFor(load: Load | undefined, maxBody: number): Room | undefined {
  return load && roomIn(load, MAX_BODIES * maxBody, 1)
}

/** For calls to models, in the same memory as all other bodies. */
export function modelRoomFor(
  load: Load | undefined,
  maxBody: number,
  maxModelBody: number,
): Room | undefined {
  const max = Math.max(MAX_BODIES * maxBody, MAX_MODEL_BODIES * MODEL_COPIES * maxModelBody)
  return load && roomIn(load, max, MODEL_COPIES)
}

function roomIn(load: Load, max: number, copies: number): Room {
  return {
    retain: (bytes) => load.retain(copies * bytes, max),
    release: (bytes) => load.release(copies * bytes),
  }
}
