import type { PolicyPlace } from '../model/policy.ts'

/** Ways to find out who asks, in the words of the metric's label `method`. */
export type AuthenticationMethod = 'jwt' | 'api-key' | 'basic' | 'external'

/**
 * Why an authentication turned a request away, for logs, metrics and decision records. Never for
 * the client: whoever tries credentials must not learn what was wrong with them.
 */
export interface Refusal {
  readonly by: PolicyPlace
  readonly method: AuthenticationMethod
  /** One word of the label `reason` of `portcullis_authentication_failures_total`. */
  readonly fault: string
  /** More about it; it may quote what the client sent, but no secret. */
  readonly detail: string
}
