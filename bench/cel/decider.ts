import { type Contender, contender } from '../measure.ts'
import type { turns } from './turns.ts'

let instances = 0

/**
 * A contender with its own loop: in a shared loop, V8 would call every contender through one
 * megamorphic call site, and the call would cost more than the decision.
 */
export async function decider<T>(
  name: string,
  decide: (context: T) => boolean,
  contexts: readonly T[],
): Promise<Contender> {
  const own: { turns: typeof turns } = await import(`./turns.ts?instance=${instances++}`)
  return contender(name, own.turns(decide, contexts))
}
