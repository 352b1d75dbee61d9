import type { Reply } from './reply.ts'

/** A limit that is counted in tokens of models: an estimate is taken before, the truth after. */
export interface TokenLimit {
  /** A Reply if there are not so many left. */
  take(estimate: number): Reply | undefined | Promise<Reply | undefined>
  /** All is over: so many were used of it. Once, and only if they were taken. */
  settle(used: number): void
}

export const NO_TOKEN_LIMITS: readonly TokenLimit[] = []
