import type { Origin } from '../../diagnostics/diagnostic.ts'
import type { Endpoint } from '../../model/backend.ts'
import type { Attached } from '../../model/policy.ts'
import { endpointSlice, type ServiceObject } from '../resources/cluster-objects.ts'
import type { ClusterView, Read } from './view.ts'

const SERVICE_NAME = 'kubernetes.io/service-name' as const

export type ServicePort = ServiceObject['spec']['ports'][number]

/** The slices of a Service. If a slice moves to another Service, both are updated. */
function slicesOf(view: ClusterView, { namespace, name }: Read<ServiceObject>) {
  return view.byLabel('EndpointSlice', endpointSlice, SERVICE_NAME, namespace, name)
}

/** The current endpoints of a Service port, in an order that does not depend on the slices. */
export function endpointsOf(
  view: ClusterView,
  service: Read<ServiceObject>,
  port: ServicePort,
): readonly Endpoint[] {
  const { spec } = service.value
  if (spec.type === 'ExternalName') {
    return spec.externalName === undefined || spec.externalName === ''
      ? []
      : [{ host: spec.externalName.toLowerCase(), port: port.port }]
  }
  const found = new Map<string, Endpoint>()
  for (const { value } of slicesOf(view, service)) {
    if (value.addressType === 'FQDN') continue
    // An unnamed port of a Service has no name, or an empty one, in the slice.
    const own = value.ports?.find(({ name }) => (name ?? '') === (port.name ?? ''))
    if (own?.port === undefined || own.port === null) continue
    for (const { addresses, conditions } of value.endpoints ?? []) {
      // Unknown counts as ready, as the API defines.
      if (conditions?.ready === false) continue
      for (const host of addresses) {
        found.set(`${host} ${own.port}`, { host: host.toLowerCase(), port: own.port })
      }
    }
  }
  return [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}

/** HTTP/2 without TLS, as declared by the port. */
export function isCleartextHttp2({ appProtocol }: ServicePort): boolean {
  return appProtocol === 'kubernetes.io/h2c'
}

export function cleartextHttp2(backend: string, origin: Origin): Attached {
  return {
    state: 'valid',
    kind: 'http',
    section: 'backend',
    level: 'backend',
    policy: `backend:${backend}`,
    origin,
    value: { version: '2', maxResponseHeadSize: 32_768, maxResponseHeaders: 100 },
  }
}
