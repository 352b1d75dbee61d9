import { sink } from '../measure.ts'

/** Evaluates `decide` `times` times, cycling through the contexts. */
export function turns<T>(decide: (context: T) => boolean, contexts: readonly T[]) {
  const last = contexts.length - 1
  let at = 0
  return (times: number): void => {
    let count = 0
    for (let i = 0; i < times; i++) {
      if (decide(contexts[at] as T)) count++
      at = at === last ? 0 : at + 1
    }
    sink.count += count
  }
}
