import { isSame } from '../../model/reconcile.ts'
import { service } from '../resources/cluster-objects.ts'
import { gateway, listenerSet } from '../resources/gateway.ts'
import { proxyBackend } from '../resources/proxy.ts'
import { grpcRoute, httpRoute } from '../resources/routes.ts'
import { gatewayOfSet } from './gateways.ts'
import type { TargetKind } from './policy-targets.ts'
import type { ClusterView } from './view.ts'

export interface Sections {
  readonly names: readonly string[]
  /** Of the listeners of a Gateway and of its ListenerSets. */
  readonly ports: readonly number[]
}

/** The parts of an object that `sectionName` or `port` of a target can name. */
export function sectionsOf(view: ClusterView, kind: TargetKind, key: string): Sections {
  const read = () => readSections(view, kind, key)
  return view.cells.shared(`sections of ${kind} ${key}`, read, isSame)
}

function readSections(view: ClusterView, kind: TargetKind, key: string): Sections {
  const [namespace = '', name = ''] = key.split('/')
  const named = (all: readonly { readonly name?: string | undefined }[] = []): Sections => {
    return { names: all.flatMap((one) => one.name ?? []), ports: [] }
  }
  switch (kind) {
    case 'Gateway': {
      const own = view.get(kind, gateway, namespace, name)?.value.spec.listeners ?? []
      const sets = view.all('ListenerSet', listenerSet).filter((set) => gatewayOfSet(set) === key)
      const added = sets.flatMap(({ value }) => value.spec.listeners)
      return { ...named(own), ports: [...own, ...added].map(({ port }) => port) }
    }
    case 'ListenerSet':
      return named(view.get(kind, listenerSet, namespace, name)?.value.spec.listeners)
    case 'HTTPRoute':
      return named(view.get(kind, httpRoute, namespace, name)?.value.spec.rules)
    case 'GRPCRoute':
      return named(view.get(kind, grpcRoute, namespace, name)?.value.spec.rules)
    case 'Service': {
      const ports = view.get(kind, service, namespace, name)?.value.spec.ports ?? []
      return { names: ports.map(({ port }) => String(port)), ports: [] }
    }
    case 'ProxyBackend': {
      const { ai, mcp } = view.get(kind, proxyBackend, namespace, name)?.value.spec ?? {}
      const groups = ai?.groups?.flatMap(({ providers }) => providers)
      return named([...(groups ?? (ai?.provider ? [ai.provider] : [])), ...(mcp?.targets ?? [])])
    }
    default:
      return named()
  }
}
