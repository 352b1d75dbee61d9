import { objectsOf, type Snapshot } from '../cluster/snapshot.ts'
import type { ObjectStatus } from '../translate/conditions.ts'

const WITH_REFS: readonly (readonly [kind: string, member: 'parents' | 'ancestors'])[] = [
  ['HTTPRoute', 'parents'],
  ['GRPCRoute', 'parents'],
  ['TLSRoute', 'parents'],
  ['TCPRoute', 'parents'],
  ['ProxyModel', 'parents'],
  ['BackendTLSPolicy', 'ancestors'],
  ['ProxyPolicy', 'ancestors'],
]

/** What we said of objects that we have no more to say about: a route that left our Gateways. */
export function staleStatuses(
  snapshot: Snapshot,
  statuses: readonly ObjectStatus[],
  controllerName: string,
): readonly ObjectStatus[] {
  const known = new Set(statuses.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`))
  return WITH_REFS.flatMap(([kind, member]) =>
    [...objectsOf(snapshot, kind).values()].flatMap(({ metadata, status }) => {
      const { name, namespace = '', generation = 0 } = metadata
      if (known.has(`${kind} ${namespace}/${name}`)) return []
      const entries = ((status ?? {}) as Readonly<Record<string, unknown>>)[member]
      const isOurs =
        Array.isArray(entries) &&
        entries.some((entry) => entry?.['controllerName'] === controllerName)
      return isOurs ? [{ kind, namespace, name, generation, [member]: [] }] : []
    }),
  )
}
