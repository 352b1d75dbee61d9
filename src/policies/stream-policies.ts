import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Backend } from '../model/backend.ts'
import type { Gateway, Listener } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { BackendRef } from '../model/route.ts'
import type { TcpRoute } from '../model/tcp-route.ts'
import { CLUSTER_KINDS } from './cluster-kinds.ts'

/*
 * What holds for connections that are not HTTP. There are no requests to decide about, so of all
 * policies only those can hold that say how a backend is connected to. The others are refused: a
 * rule that nothing enforces looks like protection and is none.
 */

/** Of one backend of a route, the most specific first. */
export function policiesOfStream(
  route: TcpRoute,
  ref: BackendRef,
  backend: Backend,
): readonly Attached[] {
  return [...ref.policies, ...backend.policies, ...route.policies]
}

export function holdsForStreams({ section, kind }: Attached): boolean {
  return section === 'backend' && CLUSTER_KINDS.has(kind)
}

/** All policies that would have to hold for connections and do not. */
export function* unenforcedOnStreams(model: Model): Generator<Diagnostic> {
  const backends = new Map(model.backends.map((backend) => [backend.name, backend]))
  const told = new Set<Attached>()
  for (const policy of [...ofRoutes(model, backends), ...ofListeners(model)]) {
    if (told.has(policy)) continue
    told.add(policy)
    yield {
      code: 'PC0219',
      severity: 'error',
      message: `nothing enforces \`${policy.kind}\` for connections that are not HTTP`,
      origin: policy.origin,
      hint: 'say in `networkAuthorization` who may connect, or remove it',
    }
  }
  for (const policy of ofMixedGateways(model)) {
    yield {
      code: 'PC0221',
      severity: 'warning',
      message: `\`${policy.kind}\` has no effect on those listeners of the gateway that are not HTTP`,
      origin: policy.origin,
      hint: 'say in `networkAuthorization` who may connect to them',
    }
  }
}

function* ofRoutes(model: Model, backends: ReadonlyMap<string, Backend>): Generator<Attached> {
  for (const route of model.tcpRoutes) {
    const refs = route.action.kind === 'forward' ? route.action.backends : []
    const reaching = refs.flatMap((ref) => {
      const backend = backends.get(ref.backend)
      return backend === undefined ? [] : policiesOfStream(route, ref, backend)
    })
    for (const policy of [...route.policies, ...reaching]) {
      if (!holdsForStreams(policy)) yield policy
    }
  }
}

function* ofListeners({ gateways }: Model): Generator<Attached> {
  for (const { listeners, policies } of gateways) {
    const streams = listeners.filter(isStream)
    for (const listener of streams) yield* listener.policies.filter(isForRequests)
    if (streams.length > 0 && streams.length === listeners.length) {
      yield* policies.filter(isForRequests)
    }
  }
}

/** They hold for some listeners of their gateway, and may be meant for these alone. */
function ofMixedGateways({ gateways }: Model): readonly Attached[] {
  const isMixed = ({ listeners }: Gateway) => listeners.some(isStream) && !listeners.every(isStream)
  return gateways.filter(isMixed).flatMap(({ policies }) => policies.filter(isForRequests))
}

/** What stands around a route of connections does not reach its backends, either. */
function isForRequests({ section }: Attached): boolean {
  return section !== 'frontend'
}

function isStream({ protocol }: Listener): boolean {
  return protocol === 'TCP' || protocol === 'TLS'
}
