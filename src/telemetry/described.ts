import type { Labels } from './label.ts'

/** The properties that every metric defines. */
export interface Described<L extends Labels> {
  /**
   * `portcullis_…`, or `gen_ai_…` of OpenTelemetry; a counter ends with `_total`, preceded by the
   * unit, if there is one.
   */
  readonly name: string
  readonly help: string
  readonly labels: L
  readonly unit?: Unit
  /** Max series, if the default of 2,000 does not fit. */
  readonly maximum?: number
  /** Also has the labels that the configuration adds. */
  readonly takesCustomLabels?: boolean
  /**
   * Reserved for the future, so that dashboards can be built: it has no data and is not exposed.
   */
  readonly isPlanned?: boolean
}

export type Unit = 'seconds' | 'bytes' | 'ratio' | 'usd'
