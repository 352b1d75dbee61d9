import type { Endpoint } from '../../model/backend.ts'
import { type ServiceEntryObject, serviceEntry, workloadEntry } from '../resources/mesh.ts'
import type { ClusterView, Read } from './view.ts'

export type EntryPort = ServiceEntryObject['spec']['ports'][number]

/** Protocols whose ports speak HTTP/2 without TLS. */
const HTTP2: ReadonlySet<string> = new Set(['HTTP2', 'GRPC'])

/** The entry of a namespace that has a host; of several the oldest. */
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
 * Where a port of an entry is served: its endpoints, the workloads that it selects, or else its
 * hosts, by their names. Order and duplicates of what is written make no difference.
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
    // Sockets of a file system are of another machine, and a wildcard is no address.
    if (host === '' || host.startsWith('unix://') || host.includes('*')) return
    found.set(`${host} ${own}`, { host, port: own })
  }
  const otherwise = port.targetPort ?? port.number
  for (const { address, ports } of listed) add(address, ports[port.name] ?? otherwise)
  // A static entry without endpoints has none; a name is not what its author meant.
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
