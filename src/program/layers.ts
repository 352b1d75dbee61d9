import type { Attached, InvalidPolicy, Section, ValidPolicy } from '../model/policy.ts'
import { POLICY_SCHEMAS } from '../policies/schema.ts'

/** The policies of one place: a gateway, a listener, a route, one of its rules, a backend. */
export interface Layer {
  /** Unique in the Model: `gateway default`, `route checkout`. */
  readonly place: string
  readonly policies: readonly Attached[]
}

/** What reaches one point from all layers around it. */
export interface Reaching {
  /** In the order of the layers, the gateway's first. */
  readonly byKind: ReadonlyMap<string, readonly [ValidPolicy, ...ValidPolicy[]]>
  /** Deny what they guard. */
  readonly invalid: readonly InvalidPolicy[]
}

const COMPOSING: ReadonlySet<string> = new Set(
  POLICY_SCHEMAS.filter(({ composes }) => composes).map(({ kind }) => kind),
)
const KNOWN: ReadonlySet<string> = new Set(POLICY_SCHEMAS.map(({ kind }) => kind))

/**
 * Layers go from the general to the specific. Policies of a kind that composes hold together; of
 * the others the most specific layer has its way, and in one layer the first. An invalid policy
 * that gave way guards nothing any more; one of a kind that nobody knows always guards.
 */
export function reaching(layers: readonly Layer[], section: Section): Reaching {
  let only: Attached | undefined
  for (const { policies } of layers) {
    for (const policy of policies) {
      if (policy.section !== section) continue
      if (only !== undefined) return merge(layers, section)
      only = policy
    }
  }
  if (only === undefined) return NOTHING
  return only.state === 'invalid'
    ? { byKind: NOTHING.byKind, invalid: [only] }
    : { byKind: new Map([[only.kind, [only]]]), invalid: NOTHING.invalid }
}

export const NOTHING: Reaching = { byKind: new Map(), invalid: [] }

function merge(layers: readonly Layer[], section: Section): Reaching {
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

/**
 * Layers by place, each made once. A policy that is attached to several things is a policy of its
 * own at each of them, with its own counts, even where the Model has one object for all.
 */
export class Layers {
  readonly #layers = new Map<string, { readonly of: readonly Attached[]; readonly layer: Layer }>()
  readonly #places = new Map<Attached, string>()

  at(place: string, policies: readonly Attached[]): Layer {
    if (policies.length === 0) return EMPTY
    const known = this.#layers.get(place)
    // Two things of one name would be a fault elsewhere; neither may get the other's policies.
    if (known?.of === policies) return known.layer
    const own = policies.map((policy) => (this.#places.has(policy) ? { ...policy } : policy))
    for (const policy of own) this.#places.set(policy, place)
    const layer = { place, policies: own }
    if (known === undefined) this.#layers.set(place, { of: policies, layer })
    return layer
  }

  placeOf(policy: Attached): string {
    return this.#places.get(policy) ?? ''
  }
}

const EMPTY: Layer = { place: '', policies: [] }
