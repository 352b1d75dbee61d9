import type { JsonObject } from '../../model/json.ts'

/** The spec of a ProxyParameters, as in its CRD. */
export interface ProxyParameters {
  readonly workload?: { readonly kind?: 'Deployment' | 'DaemonSet' }
  readonly image?: ImageParameters
  readonly env?: readonly (JsonObject & { readonly name: string })[]
  readonly resources?: { readonly requests?: JsonObject; readonly limits?: JsonObject }
  readonly logging?: JsonObject
  readonly rawConfig?: JsonObject
  readonly shutdown?: { readonly min: number; readonly max: number }
  readonly istio?: JsonObject
  readonly modelCatalog?: {
    readonly sources: readonly {
      readonly configMap: { readonly name: string; readonly key?: string }
    }[]
  }
  readonly deployment?: Overlay
  readonly daemonSet?: Overlay
  readonly service?: Overlay
  readonly serviceAccount?: Overlay
  readonly podDisruptionBudget?: Overlay
  readonly horizontalPodAutoscaler?: Overlay
}

export interface ImageParameters {
  readonly registry?: string
  readonly repository?: string
  readonly tag?: string
  readonly digest?: string
  readonly pullPolicy?: string
}

/** Applied to an object as a strategic merge patch. */
export interface Overlay {
  readonly metadata?: { readonly labels?: JsonObject; readonly annotations?: JsonObject }
  readonly spec?: JsonObject
}

export type OverlayName =
  | 'deployment'
  | 'daemonSet'
  | 'service'
  | 'serviceAccount'
  | 'podDisruptionBudget'
  | 'horizontalPodAutoscaler'

/**
 * Merges the parameters of the class and of the Gateway: the Gateway's win, field by field, and by
 * name for env. A configuration, a catalog and the shutdown times are replaced as a whole. Overlays
 * are not merged with each other: they are applied one after the other.
 */
export function mergeParameters(all: readonly ProxyParameters[]): ProxyParameters {
  let merged: ProxyParameters = {}
  for (const own of all) merged = mergeTwo(merged, own)
  return merged
}

function mergeTwo(base: ProxyParameters, own: ProxyParameters): ProxyParameters {
  const image = mergeImages(base.image, own.image)
  return {
    ...base,
    ...own,
    ...(image && { image }),
    workload: { ...base.workload, ...own.workload },
    env: mergeEnv(base.env ?? [], own.env ?? []),
    resources: {
      requests: { ...base.resources?.requests, ...own.resources?.requests },
      limits: { ...base.resources?.limits, ...own.resources?.limits },
    },
    logging: { ...base.logging, ...own.logging },
    istio: { ...base.istio, ...own.istio },
  }
}

/** A digest and a tag are alternatives: setting one discards the other one of the class. */
function mergeImages(
  base: ImageParameters | undefined,
  own: ImageParameters | undefined,
): ImageParameters | undefined {
  if (own?.tag === undefined || own.digest !== undefined) return own && { ...base, ...own }
  const { digest: _, ...rest } = base ?? {}
  return { ...rest, ...own }
}

export function mergeEnv<T extends { readonly name: string }>(
  base: readonly T[],
  own: readonly T[],
): readonly T[] {
  const names = new Set(own.map(({ name }) => name))
  return [...base.filter(({ name }) => !names.has(name)), ...own]
}
