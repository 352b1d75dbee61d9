import { type Contender, contender } from '../measure.ts'
import type { turns } from './turns.ts'

let instances = 0

/**
 * A contender with a loop of its own: in a loop that all shared, V8 would call each of them
 * through one site that has seen many functions, and the call would cost more than the decision.
 */
export async function decider<T>(
  name: string,
  decide: (context: T) => boolean,
  contexts: readonly T[],
): Promise<Contender> {
  const own: { turns: typeof turns } = await import(`./turns.ts?instance=${instances++}`)
  return contender(name, own.turns(decide, contexts))
}
