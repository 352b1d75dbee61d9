import type { Described } from './described.ts'
import type { Labels } from './label.ts'

export interface GaugeDefinition<L extends Labels> extends Described<L> {
  /** `info` tells by its labels; its value is always 1. */
  readonly type: 'gauge' | 'info'
  /** What the value of several workers is, who each have one for the same labels. */
  readonly merge: 'sum' | 'min' | 'max'
}

export function defineGauge<const L extends Labels>({
  merge = 'sum',
  ...described
}: Described<L> & { readonly merge?: 'sum' | 'min' | 'max' }): GaugeDefinition<L> {
  return { type: 'gauge', merge, ...described }
}

export function defineInfo<const L extends Labels>(described: Described<L>): GaugeDefinition<L> {
  return { type: 'info', merge: 'max', ...described }
}

/** One series that goes up and down. */
export class Gauge {
  readonly labels: readonly string[]
  /** Milliseconds since 1970. */
  readonly created: number
  value = 0

  constructor(labels: readonly string[], created: number) {
    this.labels = labels
    this.created = created
  }

  set(value: number): void {
    this.value = value
  }

  inc(amount = 1): void {
    this.value += amount
  }

  dec(amount = 1): void {
    this.value -= amount
  }
}
