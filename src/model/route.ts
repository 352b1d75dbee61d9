import type { Diagnostic, Origin } from '../diagnostics/diagnostic.ts'
import type { Attached } from './policy.ts'

/**
 * An HTTP route. If two routes match equally well, the first one in the Model wins: sources put the
 * older one first.
 */
export interface Route {
  readonly name: string
  readonly origin: Origin
  readonly parents: readonly Parent[]
  /** In lower case, wildcards at the front. If empty, every name of the listener. */
  readonly hostnames: readonly string[]
  readonly rules: readonly RouteRule[]
  readonly policies: readonly Attached[]
}

/** The gateway that a route is attached to; without a listener, to all its listeners. */
export interface Parent {
  readonly gateway: string
  readonly listener?: string
}

export interface RouteRule {
  readonly name: string
  readonly origin: Origin
  /** At least one; any of them may match. */
  readonly matches: readonly Match[]
  readonly policies: readonly Attached[]
  readonly action: RouteAction
}

export type RouteAction =
  | { readonly kind: 'forward'; readonly backends: readonly BackendRef[] }
  /** Responds with 500 to every request that it matches. */
  | { readonly kind: 'invalid'; readonly diagnostics: readonly Diagnostic[] }

/** Backends are selected by weight; `backend` is the name of a Backend in the Model. */
export interface BackendRef {
  readonly backend: string
  readonly weight: number
  readonly policies: readonly Attached[]
}

/** All parts must match. */
export interface Match {
  readonly path: PathMatch
  readonly method?: string
  readonly headers: readonly ValueMatch[]
  readonly query: readonly ValueMatch[]
}

export interface PathMatch {
  /** A prefix ends at a segment boundary: `/a` matches `/a` and `/a/b`, not `/ab`. */
  readonly kind: 'exact' | 'prefix' | 'regex'
  readonly value: string
}

export interface ValueMatch {
  readonly name: string
  readonly kind: 'exact' | 'regex'
  readonly value: string
}
