import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'

/** Where a policy is attached: all connections, a gateway, …, one provider of an AI backend. */
export type Level = 'frontend' | 'gateway' | 'listener' | 'route' | 'backend' | 'provider'

/**
 * When it runs: for a connection, for a request before its backend is chosen, or for the chosen
 * backend. The words are those of ProxyPolicy (`spec.frontend`, `spec.traffic`, `spec.backend`).
 */
export type Section = 'frontend' | 'traffic' | 'backend'

/**
 * One field of one policy at one place. Which kinds there are is known to policies/schema.ts
 * alone; here the value is data.
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
   * its own policy's jwtAuthentication, not those of a neighbour at the same level. What is
   * written at a thing itself is called `route:orders`; no policy can be given such a name.
   */
  readonly policy: string
  readonly origin: Origin
}
