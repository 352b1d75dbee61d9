import type { ExampleRequest } from './example.ts'

/** What one configuration does with a request, said by the program that would serve it. */
export interface Verdict {
  readonly isAdmitted: boolean
  readonly route: string
  readonly reason: string
  /** No rule rejects it, but the response is an error, or nothing is there that could serve it. */
  readonly isUnserved?: true
}

/** Undefined where it cannot be told. */
export type Decide = (request: ExampleRequest) => Verdict | undefined

/** A change of what is decided, with a request that shows it. */
export interface Difference {
  readonly kind: 'admitted' | 'refused'
  readonly listener: string
  readonly route: string
  readonly backend: string | undefined
  readonly provider: string | undefined
  readonly example: ExampleRequest
  readonly old: Verdict
  readonly now: Verdict
  /** Policies that ask a service about what is admitted: it is, if they admit it. */
  readonly services: readonly string[]
  /** The same in words: `extAuthz of x`. */
  readonly asks: string
}

export interface SemanticDiff {
  /** Newly admitted first. */
  readonly differences: readonly Difference[]
  /** Places where it could not be told whether something changes. */
  readonly untold: readonly Untold[]
}

export interface Untold {
  readonly kind: Difference['kind']
  readonly listener: string
  readonly route: string
  readonly why: string
  /** The part of the configuration that differs and that nothing accounts for. */
  readonly part?: string
}
