import type { Outcome } from '../exchange/step.ts'
import type { UsageLimit } from '../exchange/usage-limit.ts'

/** How much of a limit a call uses or may use; undefined if unknown. */
export type UsageOf = (limit: UsageLimit) => number | undefined

/** The decision of a budget about a call, for metrics. */
export interface BudgetDecision {
  readonly policy: string
  readonly measure: UsageLimit['measure']
  readonly outcome: 'allowed' | 'exhausted' | 'error'
}

/** What a call has reserved from the limits that it counts toward. */
export class UsageReservation {
  readonly decisions: BudgetDecision[] = []
  readonly #limits: readonly UsageLimit[]
  readonly #estimateOf: UsageOf
  #taken = 0

  constructor(limits: readonly UsageLimit[], estimateOf: UsageOf) {
    this.#limits = limits
    this.#estimateOf = estimateOf
  }

  /** Reserves the estimate from all limits, or nothing from any. */
  take(): Outcome | Promise<Outcome> {
    for (let limit = this.#next; limit !== undefined; limit = this.#next) {
      const own = limit
      const outcome = own.take(this.#estimateOf(own) ?? 0)
      if (outcome instanceof Promise) {
        return outcome.then((reply) => this.#note(own, reply) ?? this.take())
      }
      const reply = this.#note(own, outcome)
      if (reply !== undefined) return reply
    }
    return undefined
  }

  /**
   * Called when everything is complete. Undefined: a provider served it, but its usage is unknown.
   */
  settle(usedOf: UsageOf): void {
    const taken = this.#limits.slice(0, this.#taken)
    this.#taken = 0
    for (const limit of taken) {
      const used = usedOf(limit)
      if (used !== undefined) limit.settle(used)
    }
  }

  get #next(): UsageLimit | undefined {
    return this.#limits[this.#taken]
  }

  #note({ budget, by, measure }: UsageLimit, reply: Outcome): Outcome {
    if (budget !== undefined) {
      const outcome = reply === undefined ? 'allowed' : reply.status === 429 ? 'exhausted' : 'error'
      this.decisions.push({ policy: budget, measure, outcome })
    }
    if (reply === undefined) {
      this.#taken++
      return undefined
    }
    this.settle(() => 0)
    return { ...reply, by }
  }
}
