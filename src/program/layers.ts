import type { Attached } from '../model/policy.ts'
import type { Layer } from '../reach/layers.ts'

/**
 * Layers by place, each created once. A policy that is attached to several things is a separate
 * policy at each of them, with its own counters, even if the Model has one object for all.
 */
export class Layers {
  readonly #layers = new Map<string, { readonly of: readonly Attached[]; readonly layer: Layer }>()
  readonly #places = new Map<Attached, string>()

  at(place: string, policies: readonly Attached[]): Layer {
    const known = this.#layers.get(place)
    // Two things with the same name are reported elsewhere; neither may get the other's policies.
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
