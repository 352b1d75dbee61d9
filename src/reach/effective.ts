import type { Attached, InvalidPolicy, Section, ValidPolicy } from '../model/policy.ts'
import { COMPOSING, KNOWN } from './kinds.ts'
import type { Layer } from './layers.ts'

/** The policies that apply at one point, out of all layers around it. */
export interface Effective {
  /** In the order of the layers, those of the gateway first. */
  readonly byKind: ReadonlyMap<string, readonly [ValidPolicy, ...ValidPolicy[]]>
  /** These deny what they guard. */
  readonly invalid: readonly InvalidPolicy[]
}

export const NO_POLICIES: Effective = { byKind: new Map(), invalid: [] }

/**
 * Layers are ordered from the general to the specific. Policies of a kind that composes apply
 * together; of other kinds, the policy of the most specific layer applies, and in one layer the
 * first. An overridden invalid policy no longer guards anything; one of an unknown kind always
 * guards.
 */
export function effectiveAt(layers: readonly Layer[], section: Section): Effective {
  let only: Attached | undefined
  for (const { policies } of layers) {
    for (const policy of policies) {
      if (policy.section !== section) continue
      if (only !== undefined) return merge(layers, section)
      only = policy
    }
  }
  if (only === undefined) return NO_POLICIES
  return only.state === 'invalid'
    ? { byKind: NO_POLICIES.byKind, invalid: [only] }
    : { byKind: new Map([[only.kind, [only]]]), invalid: NO_POLICIES.invalid }
}

function merge(layers: readonly Layer[], section: Section): Effective {
  const found = new Map<string, Attached[]>()
  for (const { policies } of layers) {
    const here = new Set<string>()
    for (const policy of policies) {
      if (policy.section !== section) continue
      const { kind } = policy
      const isAdded = COMPOSING.has(kind) || !KNOWN.has(kind)
      const known = found.get(kind)
      if (known === undefined) found.set(kind, [policy])
      else if (isAdded) known.push(policy)
      else if (!here.has(kind)) found.set(kind, [policy])
      here.add(kind)
    }
  }
  const byKind = new Map<string, readonly [ValidPolicy, ...ValidPolicy[]]>()
  const invalid: InvalidPolicy[] = []
  for (const [kind, policies] of found) {
    const valid: ValidPolicy[] = []
    for (const policy of policies) {
      if (policy.state === 'invalid') invalid.push(policy)
      else valid.push(policy)
    }
    if (isSome(valid)) byKind.set(kind, valid)
  }
  return { byKind, invalid }
}

function isSome<T>(list: T[]): list is [T, ...T[]] {
  return list.length > 0
}
