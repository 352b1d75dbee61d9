import type { Endpoint } from '../../model/backend.ts'
import {
  type EndpointSliceObject,
  endpointSlice,
  type ServiceObject,
} from '../resources/cluster-objects.ts'
import type { ClusterView, Read } from './view.ts'

const SERVICE_NAME = 'kubernetes.io/service-name'

export type ServicePort = ServiceObject['spec']['ports'][number]

/** The EndpointSlices of a cluster, by the Service that they belong to. */
export class Endpoints {
  readonly #slices: ReadonlyMap<string, readonly Read<EndpointSliceObject>[]>

  constructor(view: ClusterView) {
    const slices = view.all('EndpointSlice', endpointSlice)
    this.#slices = Map.groupBy(slices, ({ namespace, object }) => {
      return `${namespace}/${object.metadata.labels?.[SERVICE_NAME] ?? ''}`
    })
  }

  /** What the endpoints of a Service are made of: the same objects give the same endpoints. */
  sourcesOf(service: Read<ServiceObject>): readonly object[] {
    return (this.#slices.get(service.key) ?? []).map(({ object }) => object)
  }

  /** Where a port of a Service is served now, in an order that does not depend on the slices. */
  of(service: Read<ServiceObject>, port: ServicePort): readonly Endpoint[] {
    const { spec } = service.value
    if (spec.type === 'ExternalName') {
      return spec.externalName === undefined || spec.externalName === ''
        ? []
        : [{ host: spec.externalName.toLowerCase(), port: port.port }]
    }
    const slices = (this.#slices.get(service.key) ?? []).filter(
      ({ value }) => value.addressType !== 'FQDN',
    )
    const found = new Map<string, Endpoint>()
    for (const { value } of slices) {
      // An unnamed port of a Service is an unnamed, or empty, one of the slice.
      const own = value.ports?.find(({ name }) => (name ?? '') === (port.name ?? ''))
      if (own?.port === undefined || own.port === null) continue
      for (const { addresses, conditions } of value.endpoints ?? []) {
        // Unknown is ready, as the API says.
        if (conditions?.ready === false) continue
        for (const host of addresses) {
          found.set(`${host} ${own.port}`, { host: host.toLowerCase(), port: own.port })
        }
      }
    }
    return [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
  }
}

/** HTTP/2 without TLS, as the port says it. */
export function isCleartextHttp2({ appProtocol }: ServicePort): boolean {
  return appProtocol === 'kubernetes.io/h2c'
}
