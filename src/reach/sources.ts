import type { Attached, Section } from '../model/policy.ts'
import type { IdentityVariable } from '../policies/schema.ts'
import { IDENTIFYING } from './kinds.ts'
import type { Layer } from './layers.ts'

/** What the policies around one point see of the client identity. */
export interface Sources {
  /** All authentications around it, those of the gateway first. */
  readonly all: readonly Attached[]
  /**
   * The authentications that a policy trusts for a variable, by the name of the policy and the
   * index of its layer, from 0; an index after the last layer means inside all of them.
   */
  seenBy(policy: string, depth: number, variable: IdentityVariable): readonly Attached[]
}

export const NO_SOURCES: Sources = { all: [], seenBy: () => [] }

/**
 * A policy sees what its own authentication found or, if it has none, what the nearest enclosing
 * level found. It does not see what a neighbor at its own level found: attaching a policy to a
 * route must not supply claims to the rules of others. If its own authentication found no client,
 * as an Optional one may, an enclosing level does not step in: another issuer may have other users
 * with the same names.
 */
export function sourcesAt(layers: readonly Layer[], section: Section): Sources {
  if (!hasSource(layers, section)) return NO_SOURCES
  const byLayer = layers.map(({ policies }) => policies.filter((one) => isSource(one, section)))
  return {
    all: byLayer.flat(),
    seenBy: (policy, depth, variable) => seen(byLayer, policy, depth, variable),
  }
}

function hasSource(layers: readonly Layer[], section: Section): boolean {
  for (const { policies } of layers) {
    for (const policy of policies) if (isSource(policy, section)) return true
  }
  return false
}

/** What was found for a request is also visible to the rules of its backend. */
function isSource(policy: Attached, section: Section): boolean {
  const isSeen = policy.section === 'traffic' || policy.section === section
  return isSeen && IDENTIFYING.has(policy.kind)
}

function seen(
  byLayer: readonly (readonly Attached[])[],
  policy: string,
  depth: number,
  variable: IdentityVariable,
): readonly Attached[] {
  const says = ({ kind }: Attached) => IDENTIFYING.get(kind)?.includes(variable) === true
  const own = (byLayer[depth] ?? []).filter((one) => one.policy === policy && says(one))
  if (own.length > 0) return own
  for (let above = Math.min(depth, byLayer.length) - 1; above >= 0; above--) {
    const found = (byLayer[above] as readonly Attached[]).filter(says)
    if (found.length > 0) return found
  }
  return []
}
