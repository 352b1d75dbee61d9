import type { PolicyPlace } from '../model/policy.ts'
import type { Reply } from './reply.ts'

/**
 * A usage limit for calls to models: takes an estimate before the call, settles the actual usage
 * after.
 */
export interface UsageLimit {
  /** The unit; dollars are counted in billionths. */
  readonly measure: 'requests' | 'tokens' | 'usd'
  /** The name of the policy if it is a budget; absent for a rate limit. */
  readonly budget?: string
  /** The policy that limits. */
  readonly by?: PolicyPlace
  /** Whether calls to this model count. */
  isFor(model: string): boolean
  /** Takes an estimate; a Reply if less than that is left. */
  take(estimate: number): Reply | undefined | Promise<Reply | undefined>
  /** Settles the actual usage after the call. Called once, and only if an estimate was taken. */
  settle(used: number): void
}

export const NO_USAGE_LIMITS: readonly UsageLimit[] = []
