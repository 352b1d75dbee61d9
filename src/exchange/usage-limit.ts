import type { Reply } from './reply.ts'

/** A limit on what calls to models use: an estimate is taken before, the truth is settled after. */
export interface UsageLimit {
  /** What it is counted in; of dollars, billionths. */
  readonly measure: 'requests' | 'tokens' | 'usd'
  /** The policy, if it is a budget; absent: a rate limit. */
  readonly budget?: string
  /** Whether calls to this model count. */
  isFor(model: string): boolean
  /** A Reply if there is not so much left. */
  take(estimate: number): Reply | undefined | Promise<Reply | undefined>
  /** All is over: so much was used of it. Once, and only if it was taken. */
  settle(used: number): void
}

export const NO_USAGE_LIMITS: readonly UsageLimit[] = []
