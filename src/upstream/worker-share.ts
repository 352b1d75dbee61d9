/** Which of the processes that share the ports this one is. */
export interface WorkerPlace {
  /** From 0. One that takes the place of another has its number. */
  readonly number: number
  readonly count: number
}

export const ONLY_WORKER: WorkerPlace = { number: 0, count: 1 }

/**
 * The part that this worker may use of a limit which holds for the gateway: as nearly the same for
 * all as it can be, and all of them together are the limit.
 */
export function shareOf(limit: number, { number, count }: WorkerPlace): number {
  if (!Number.isFinite(limit)) return limit
  const rest = number % count < limit % count ? 1 : 0
  return Math.floor(limit / count) + rest
}
