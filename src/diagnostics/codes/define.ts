import type { Severity } from '../diagnostic.ts'

/** What a code means, for the person who met it: its page in docs/errors is made from this. */
export interface CodeRecord {
  /** Stable for ever: a code that is no longer used is retired, never given to something else. */
  readonly code: string
  readonly severity: Severity
  /** The mistake in a few words, lower case, as a message would say it. */
  readonly title: string
  /** One paragraph: what was found, why it is rejected or warned of, and what to do. */
  readonly explanation: string
  readonly example: Example
}

export interface Example {
  readonly language: 'cel' | 'yaml' | 'text'
  readonly wrong: string
  readonly right: string
  /** The stage at which `wrong` is wrong, where that matters. */
  readonly stage?: 'connection' | 'traffic'
  /** Set where `wrong` only hints at something too big to print, so that it cannot be run. */
  readonly sketch?: true
}

/** Codes of one subject share their first two digits. */
export interface CodeGroup {
  readonly prefix: string
  readonly title: string
  readonly codes: readonly CodeRecord[]
}

export function defineCodes(
  prefix: string,
  title: string,
  codes: readonly CodeRecord[],
): CodeGroup {
  return { prefix, title, codes }
}
