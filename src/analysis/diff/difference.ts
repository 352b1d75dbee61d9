import type { ExampleRequest } from './example.ts'

/** What one configuration does with a request, as decided by the program that would serve it. */
export interface Verdict {
  readonly isAdmitted: boolean
  readonly route: string
  readonly reason: string
  /** No rule rejects the request, but the response is an error, or nothing can serve it. */
  readonly isUnserved?: true
}

/** Undefined if the verdict cannot be determined. */
export type Decide = (request: ExampleRequest) => Verdict | undefined

/** A changed decision, with a request that shows it. */
export interface Difference {
  readonly kind: 'admitted' | 'refused'
  readonly listener: string
  readonly route: string
  readonly backend: string | undefined
  readonly provider: string | undefined
  readonly example: ExampleRequest
  readonly old: Verdict
  readonly now: Verdict
  /** It is denied only once it was sent more often than a limit allows. */
  readonly isOverLimit?: true
  /** Policies that call a service about the request: it is admitted if the service admits it. */
  readonly services: readonly string[]
  /** The same as a phrase: `extAuthz of x`. */
  readonly asks: string
}

export interface SemanticDiff {
  /** Newly admitted requests first. */
  readonly differences: readonly Difference[]
  /** Places where it is unknown whether something changes. */
  readonly untold: readonly Untold[]
}

export interface Untold {
  readonly kind: Difference['kind']
  readonly listener: string
  readonly route: string
  readonly why: string
  /** The part of the configuration that differs and that nothing accounts for. */
  readonly part?: string
  /** It follows from a difference of the same place, if there is one. */
  readonly isFollowUp?: true
}
