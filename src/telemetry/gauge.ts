import type { Described } from './described.ts'
import type { Labels } from './label.ts'

export interface GaugeDefinition<L extends Labels> extends Described<L> {
  /** An `info` metric carries its information in labels; its value is always 1. */
  readonly type: 'gauge' | 'info'
  /** How values of several workers with the same labels are combined. */
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

/** One series that increases and decreases. */
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
