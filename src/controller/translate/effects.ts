import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Recipe } from './references.ts'

/** Findings about one policy at one place where it is attached. */
export interface Reached {
  readonly overridden: Set<string>
  readonly diagnostics: Set<Diagnostic>
}

/** What a part of a Gateway's Model needs or affects outside itself, recorded while it is made. */
export interface Effects {
  /** The backends that it refers to, by their names in the Model. */
  readonly uses: Map<string, Recipe>
  /** ProxyPolicies that reach the Gateway through it, by key. */
  readonly reached: Map<string, Reached>
  /** XBackends and InferencePools that it refers to, as `kind namespace/name`. */
  readonly backends: Set<string>
  /** BackendTLSPolicies that reach the Gateway through it, by key. */
  readonly tls: Set<string>
}

export function noEffects(): Effects {
  return { uses: new Map(), reached: new Map(), backends: new Set(), tls: new Set() }
}

export function reachedAt({ reached }: Effects, policy: string): Reached {
  const known = reached.get(policy)
  if (known !== undefined) return known
  const made = { overridden: new Set<string>(), diagnostics: new Set<Diagnostic>() }
  reached.set(policy, made)
  return made
}
