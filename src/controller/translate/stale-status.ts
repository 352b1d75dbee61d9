import type { KubeObject } from '../cluster/object.ts'
import type { ObjectStatus } from './conditions.ts'

const MEMBERS: Readonly<Record<string, 'parents' | 'ancestors'>> = {
  HTTPRoute: 'parents',
  GRPCRoute: 'parents',
  TLSRoute: 'parents',
  TCPRoute: 'parents',
  ProxyPolicy: 'ancestors',
}

/**
 * Removes the controller's status entries from an object that it is no longer responsible for;
 * undefined if there are none.
 */
export function staleStatus(
  kind: string,
  { metadata, status }: KubeObject,
  controllerName: string,
): ObjectStatus | undefined {
  const member = MEMBERS[kind]
  if (member === undefined) return undefined
  const { name, namespace = '', generation = 0 } = metadata
  const entries = ((status ?? {}) as Readonly<Record<string, unknown>>)[member]
  const isOurs =
    Array.isArray(entries) && entries.some((entry) => entry?.['controllerName'] === controllerName)
  return isOurs ? { kind, namespace, name, generation, [member]: [] } : undefined
}
