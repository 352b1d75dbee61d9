import type { Attached, Section } from '../model/policy.ts'
import type { IdentityVariable } from '../policies/schema.ts'
import { IDENTIFYING } from './kinds.ts'
import type { Layer } from './layers.ts'

/** What the policies around one point see of who asks. */
export interface Sources {
  /** All authentications around it, the gateway's first. */
  readonly all: readonly Attached[]
  /**
   * Those whose word a policy takes for a variable, by the name of the policy and by the layer that
   * it stands in, from 0; beyond the last layer, what is seen from within all of them.
   */
  seenBy(policy: string, depth: number, variable: IdentityVariable): readonly Attached[]
}

export const NO_SOURCES: Sources = { all: [], seenBy: () => [] }

/**
 * A policy sees what its own authentication found out; where it has none, what the nearest level
 * around it did. A neighbour at its own level lends it nothing: whoever attaches a policy of his
 * own to a route must not thereby hand claims to the rules of others. Where its own found nobody,
 * as one that is Optional may, an enclosing level does not step in: another issuer may have other
 * people of the same names.
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

/** What was found out for a request is known where its backend is decided about. */
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
