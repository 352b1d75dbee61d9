import type { Attached } from '../model/policy.ts'

/** The policies of one place: a gateway, a listener, a route, one of its rules, or a backend. */
export interface Layer {
  /** Unique in the Model: `gateway default`, `route checkout`. */
  readonly place: string
  readonly policies: readonly Attached[]
}

/** Makes a layer of the policies of a place; by default, they are one unchanged. */
export type LayerAt = (place: string, policies: readonly Attached[]) => Layer

export const layerAt: LayerAt = (place, policies) => ({ place, policies })
