import type { Exchange } from './exchange.ts'
import type { Reply } from './reply.ts'

/** undefined: go on. */
export type Outcome = Reply | undefined

/** One policy at work on one exchange. Synchronous until it cannot be. */
export type Step = (exchange: Exchange) => Outcome | Promise<Outcome>

/** Runs steps in order until one responses; stays synchronous as long as they do. */
export function runSteps(
  steps: readonly Step[],
  exchange: Exchange,
  from = 0,
): Outcome | Promise<Outcome> {
  for (let i = from; i < steps.length; i++) {
    const outcome = (steps[i] as Step)(exchange)
    if (outcome === undefined) continue
    if (outcome instanceof Promise) {
      return outcome.then((response) => response ?? runSteps(steps, exchange, i + 1))
    }
    return outcome
  }
  return undefined
}
