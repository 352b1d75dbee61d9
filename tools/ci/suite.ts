/** Something that `.ci/run` runs and counts. */
export interface Suite {
  readonly name: string
  /** `tests` end with a line of counts, a `step` passes or fails, and what a `preparation` makes is only used by others. */
  readonly kind: 'tests' | 'step' | 'preparation'
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Seconds on two free cores. A suite is stopped after SLOWEST_SUITE times as long. */
  readonly seconds: number
  /** How many cores it keeps busy. */
  readonly cores: number
  /** Suites that must have ended before: a preparation that failed fails only itself. */
  readonly after?: readonly string[]
  /** Two suites with the same resource do not run at a time. */
  readonly exclusive?: string
  /** It computes and does not look at the clock: it gives way to others. */
  readonly nice?: boolean
}

export type Outcome =
  | { readonly result: 'passed' | 'failed' }
  /** It did not run, and the list in left-out.ts has the reason. */
  | { readonly result: 'left out'; readonly reason: string }

export interface SuiteReport {
  readonly name: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly seconds: number
  readonly cpuSeconds: number
  readonly outcome: Outcome
  /** Lines to print: the whole log of a suite that failed, otherwise what a reader should know. */
  readonly lines: readonly string[]
}
