import type { Severity } from '../diagnostic.ts'

/** What a code means to the user who gets it; its page in docs/errors is generated from this. */
export interface CodeRecord {
  /** Stable forever: a code that is no longer used is retired and never reused. */
  readonly code: string
  readonly severity: Severity
  /** The mistake in a few words, in lower case, as in a message. */
  readonly title: string
  /** One paragraph: what was found, why it is rejected or warned about, and what to do. */
  readonly explanation: string
  readonly example: Example
}

export interface Example {
  readonly language: 'cel' | 'yaml' | 'text'
  readonly wrong: string
  readonly right: string
  /** The stage at which `wrong` is wrong, if that matters. */
  readonly stage?: 'connection' | 'traffic'
  /** Set if `wrong` only sketches something too large to print, so that it cannot be run. */
  readonly sketch?: true
}

/** Codes on one subject share their first two digits. */
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
