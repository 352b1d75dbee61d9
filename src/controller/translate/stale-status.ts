import type { KubeObject } from '../cluster/object.ts'
import type { ObjectStatus } from './conditions.ts'

const MEMBERS: Readonly<Record<string, 'parents' | 'ancestors'>> = {
  HTTPRoute: 'parents',
  GRPCRoute: 'parents',
  TLSRoute: 'parents',
  TCPRoute: 'parents',
  ProxyPolicy: 'ancestors',
}

/** Takes back what we said of an object that we have no more to say about; undefined: nothing. */
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
