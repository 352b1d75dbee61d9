import type { Described } from './described.ts'
import type { Labels } from './label.ts'

export interface CounterDefinition<L extends Labels> extends Described<L> {
  readonly type: 'counter'
}

export function defineCounter<const L extends Labels>(
  described: Described<L>,
): CounterDefinition<L> {
  return { type: 'counter', ...described }
}

/** One series that only increases. */
export class Counter {
  readonly labels: readonly string[]
  /** Milliseconds since 1970. */
  readonly created: number
  value = 0

  constructor(labels: readonly string[], created: number) {
    this.labels = labels
    this.created = created
  }

  inc(amount = 1): void {
    this.value += amount
  }

  /** For values that are counted elsewhere, such as CPU time, and read on demand. */
  follow(value: number): void {
    this.value = value
  }
}
