import type { PolicyPlace } from '../model/policy.ts'

/** Ways to find out who asks, in the words of the metric's label `method`. */
export type AuthenticationMethod = 'jwt' | 'api-key' | 'basic' | 'external' | 'oidc'

/**
 * Why an authentication, or `csrf`, rejected a request before any rule, for logs, metrics and
 * decision records. Never for the client: it must not learn what was wrong with its credentials.
 */
export interface Rejection {
  readonly by: PolicyPlace
  readonly method: AuthenticationMethod | 'csrf'
  /** One word of the label `reason` of `portcullis_authentication_failures_total`. */
  readonly fault: string
  /** More about it; it may quote what the client sent, but no secret. */
  readonly detail: string
}
