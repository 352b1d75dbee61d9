import type { Exchange } from './exchange.ts'
import type { Reply } from './reply.ts'

/** Undefined: continue. */
export type Outcome = Reply | undefined

/** Applies one policy to an exchange. Synchronous if possible. */
export type Step = (exchange: Exchange) => Outcome | Promise<Outcome>

/** Runs steps in order until one returns a Reply; stays synchronous as long as they do. */
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
