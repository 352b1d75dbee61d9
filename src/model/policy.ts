import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'

/** Where a policy is attached: all connections, a gateway, …, one provider of an AI backend. */
export type Level = 'frontend' | 'gateway' | 'listener' | 'route' | 'backend' | 'provider'

/**
 * When a policy runs: for a connection, for a request before its backend is selected, or for the
 * selected backend. The names are those of ProxyPolicy (`spec.frontend`, `spec.traffic`,
 * `spec.backend`).
 */
export type Section = 'frontend' | 'traffic' | 'backend'

/**
 * One field of one policy at one place. Only policies/schema.ts knows which kinds exist; here the
 * value is data.
 */
export type Attached<T = unknown> = ValidPolicy<T> | InvalidPolicy

export interface ValidPolicy<T = unknown> extends PolicyPlace {
  readonly state: 'valid'
  readonly value: T
}

/** Denies what it guards. */
export interface InvalidPolicy extends PolicyPlace {
  readonly state: 'invalid'
  readonly diagnostics: readonly Diagnostic[]
}

export interface PolicyPlace {
  /** `authorization`, `jwtAuthentication`, `cors`, … */
  readonly kind: string
  readonly section: Section
  readonly level: Level
  /**
   * The policy that this is a field of. Fields of one policy share it: a rule sees the claims of
   * its own policy's jwtAuthentication, not those of another policy at the same level. Inline
   * policies are named after the thing that they are written at, as `route:orders`; no policy can
   * be given such a name.
   */
  readonly policy: string
  readonly origin: Origin
}
