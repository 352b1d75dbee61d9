import type { Endpoint } from '../../model/backend.ts'
import { type ServiceEntryObject, serviceEntry, workloadEntry } from '../resources/mesh.ts'
import type { ClusterView, Read } from './view.ts'

export type EntryPort = ServiceEntryObject['spec']['ports'][number]

/** Protocols whose ports use HTTP/2 without TLS. */
const HTTP2: ReadonlySet<string> = new Set(['HTTP2', 'GRPC'])

/** The entry of a namespace that has a host; the oldest if there are several. */
export function entryWithHost(
  view: ClusterView,
  namespace: string,
  host: string,
): Read<ServiceEntryObject> | undefined {
  const name = host.toLowerCase()
  return view
    .within('ServiceEntry', serviceEntry, namespace)
    .find(({ value }) => value.spec.hosts.some((one) => one.toLowerCase() === name))
}

/**
 * The addresses of an entry's port: its endpoints, the workloads that it selects, or else the names
 * of its hosts. The result does not depend on order or duplicates.
 */
export function entryEndpoints(
  view: ClusterView,
  { value, namespace }: Read<ServiceEntryObject>,
  port: EntryPort,
): readonly Endpoint[] {
  const { resolution, endpoints, hosts } = value.spec
  const listed = [...endpoints, ...selected(view, namespace, value)]
  const found = new Map<string, Endpoint>()
  const add = (address: string, own: number) => {
    const host = address.toLowerCase()
    // Unix sockets belong to another machine, and a wildcard is not an address.
    if (host === '' || host.startsWith('unix://') || host.includes('*')) return
    found.set(`${host} ${own}`, { host, port: own })
  }
  const otherwise = port.targetPort ?? port.number
  for (const { address, ports } of listed) add(address, ports[port.name] ?? otherwise)
  // A static entry without endpoints has none; its author did not mean a DNS name.
  if (listed.length === 0 && resolution !== 'STATIC') for (const host of hosts) add(host, otherwise)
  return [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
}

function selected(view: ClusterView, namespace: string, { spec }: ServiceEntryObject) {
  const wanted = Object.entries(spec.workloadSelector?.labels ?? {})
  if (wanted.length === 0) return []
  return view
    .within('WorkloadEntry', workloadEntry, namespace)
    .filter(({ value, object }) => {
      const labels = { ...object.metadata.labels, ...value.spec.labels }
      return wanted.every(([name, text]) => labels[name] === text)
    })
    .map(({ value }) => value.spec)
}

export function isHttp2Entry({ protocol }: EntryPort): boolean {
  return HTTP2.has(protocol.toUpperCase())
}
