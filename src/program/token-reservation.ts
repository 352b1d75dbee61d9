import type { Outcome } from '../exchange/step.ts'
import type { TokenLimit } from '../exchange/token-limit.ts'

/** What a call has taken of the limits that it counts for. */
export class TokenReservation {
  readonly #limits: readonly TokenLimit[]
  readonly #estimate: number
  #taken = 0

  constructor(limits: readonly TokenLimit[], estimate: number) {
    this.#limits = limits
    this.#estimate = estimate
  }

  /** The estimate from all, or nothing from any. */
  take(): Outcome | Promise<Outcome> {
    for (let limit = this.#next; limit !== undefined; limit = this.#next) {
      const outcome = limit.take(this.#estimate)
      if (outcome instanceof Promise) {
        return outcome.then((reply) => this.#settleOne(reply) ?? this.take())
      }
      const reply = this.#settleOne(outcome)
      if (reply !== undefined) return reply
    }
    return undefined
  }

  /** All is over. Undefined: a provider served it, and did not say how many tokens that took. */
  settle(used: number | undefined): void {
    const taken = this.#limits.slice(0, this.#taken)
    this.#taken = 0
    if (used !== undefined) for (const limit of taken) limit.settle(used)
  }

  get #next(): TokenLimit | undefined {
    return this.#limits[this.#taken]
  }

  #settleOne(reply: Outcome): Outcome {
    if (reply === undefined) this.#taken++
    else this.settle(0)
    return reply
  }
}
