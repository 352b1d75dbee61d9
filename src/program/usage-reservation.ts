import type { Outcome } from '../exchange/step.ts'
import type { UsageLimit } from '../exchange/usage-limit.ts'

/** What a call uses, or may use, of a limit; undefined: that cannot be known. */
export type UsageOf = (limit: UsageLimit) => number | undefined

/** What a budget said of a call, for the metrics. */
export interface BudgetDecision {
  readonly policy: string
  readonly measure: UsageLimit['measure']
  readonly outcome: 'allowed' | 'exhausted' | 'error'
}

/** What a call has taken of the limits that it counts for. */
export class UsageReservation {
  readonly decisions: BudgetDecision[] = []
  readonly #limits: readonly UsageLimit[]
  readonly #estimateOf: UsageOf
  #taken = 0

  constructor(limits: readonly UsageLimit[], estimateOf: UsageOf) {
    this.#limits = limits
    this.#estimateOf = estimateOf
  }

  /** The estimate from all, or nothing from any. */
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

  /** All is over. Undefined: a provider served it, and nobody knows what that took. */
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

  #note({ budget, measure }: UsageLimit, reply: Outcome): Outcome {
    if (budget !== undefined) {
      const outcome = reply === undefined ? 'allowed' : reply.status === 429 ? 'exhausted' : 'error'
      this.decisions.push({ policy: budget, measure, outcome })
    }
    if (reply === undefined) this.#taken++
    else this.settle(() => 0)
    return reply
  }
}
