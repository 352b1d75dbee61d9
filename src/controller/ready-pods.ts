import { LayeredMap } from '../model/layered-map.ts'
import type { KubeObject } from './cluster/object.ts'
import { type Objects, objectsOf, type Snapshot } from './cluster/snapshot.ts'
import { endpointSlice } from './resources/cluster-objects.ts'

const SERVICE_NAME = 'kubernetes.io/service-name'

/** The ready endpoints of Services by the names of their pods: what gets traffic. */
export class ReadyPods {
  #objects: Objects = LayeredMap.of(new Map())
  /** `namespace/service` → its slices. */
  readonly #slices = new Map<string, Map<string, KubeObject>>()

  /** Reads what changed since the last call. */
  look(snapshot: Snapshot): void {
    const objects = objectsOf(snapshot, 'EndpointSlice')
    for (const { key, before, after } of this.#objects.changesTo(objects)) {
      const old = serviceOf(before)
      if (old !== undefined) {
        const known = this.#slices.get(old)
        known?.delete(key)
        if (known?.size === 0) this.#slices.delete(old)
      }
      const service = serviceOf(after)
      if (service === undefined || after === undefined) continue
      const known = this.#slices.get(service) ?? new Map<string, KubeObject>()
      this.#slices.set(service, known.set(key, after))
    }
    this.#objects = objects
  }

  /** A pod with several addresses is in several slices. */
  of(service: string): readonly string[] {
    const slices = this.#slices.get(service)?.values() ?? []
    return [...new Set([...slices].flatMap(readyIn))].sort()
  }
}

/** An endpoint that is no pod counts by its address: it gets traffic, too. */
function readyIn(slice: KubeObject): readonly string[] {
  const { data } = endpointSlice.safeParse(slice)
  return (data?.endpoints ?? []).flatMap(({ addresses, conditions, targetRef }) => {
    // The API says that an endpoint is ready if this is unknown.
    if (conditions?.ready === false) return []
    const name = targetRef?.kind === 'Pod' ? targetRef.name : undefined
    return [name ?? addresses[0] ?? '']
  })
}

function serviceOf(slice: KubeObject | undefined): string | undefined {
  const name = slice?.metadata.labels?.[SERVICE_NAME]
  return name === undefined ? undefined : `${slice?.metadata.namespace}/${name}`
}
