import type { PolicyPlace } from '../model/policy.ts'

/** Ways to authenticate a client, as in the metric label `method`. */
export type AuthenticationMethod = 'jwt' | 'api-key' | 'basic' | 'external' | 'oidc'

/**
 * Why an authentication, or `csrf`, rejected a request before any rule was evaluated; for logs,
 * metrics and decision records. Never sent to the client, which must not learn what was wrong with
 * its credentials.
 */
export interface Rejection {
  readonly by: PolicyPlace
  readonly method: AuthenticationMethod | 'csrf'
  /** A value of the label `reason` of `portcullis_authentication_failures_total`. */
  readonly fault: string
  /** Further details; may quote what the client sent, but never a secret. */
  readonly detail: string
}
