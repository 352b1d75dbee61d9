/** The place of this process among the workers that share the ports. */
export interface WorkerPlace {
  /** From 0. A replacement worker gets the number of its predecessor. */
  readonly number: number
  readonly count: number
}

export const ONLY_WORKER: WorkerPlace = { number: 0, count: 1 }

/**
 * This worker's part of a limit for the whole gateway. Parts are as equal as possible, and add up
 * to the limit.
 */
export function shareOf(limit: number, { number, count }: WorkerPlace): number {
  if (!Number.isFinite(limit)) return limit
  const rest = number % count < limit % count ? 1 : 0
  return Math.floor(limit / count) + rest
}
