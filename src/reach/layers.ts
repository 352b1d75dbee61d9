import type { Attached } from '../model/policy.ts'

/** The policies of one place: a gateway, a listener, a route, one of its rules, a backend. */
export interface Layer {
  /** Unique in the Model: `gateway default`, `route checkout`. */
  readonly place: string
  readonly policies: readonly Attached[]
}

/** How the policies of a place become a layer; without a word, they are one as they are. */
export type LayerAt = (place: string, policies: readonly Attached[]) => Layer

export const layerAt: LayerAt = (place, policies) => ({ place, policies })
