import type { Labels } from './label.ts'

/** What every metric says of itself. */
export interface Described<L extends Labels> {
  /** `portcullis_…`, or `gen_ai_…` of OpenTelemetry; a counter ends with `_total`, and the unit, if there is one, stands before. */
  readonly name: string
  readonly help: string
  readonly labels: L
  readonly unit?: Unit
  /** Most series, where the default of 2,000 does not fit. */
  readonly maximum?: number
  /** Also has the labels that the configuration adds. */
  readonly takesCustomLabels?: boolean
  /** Named for what is to come, so that dashboards can be made: nothing feeds it, none is told. */
  readonly isPlanned?: boolean
}

export type Unit = 'seconds' | 'bytes' | 'ratio' | 'usd'
