import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { type Gateway, servesStreams } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import { recordOf } from './kinds.ts'
import { Reach } from './reach.ts'

/*
 * What holds for connections that are not HTTP. There are no requests to decide about, so of all
 * policies only those can hold that say how a backend is connected to. The others are rejected: a
 * rule that nothing enforces looks like protection and is none.
 */

export function holdsForStreams({ section, kind }: Attached): boolean {
  return section === 'backend' && recordOf(kind)?.cluster !== undefined
}

/** All policies that would have to hold for connections and do not. */
export function* unenforcedOnStreams(model: Model): Generator<Diagnostic> {
  const reported = new Set<Attached>()
  for (const policy of [...ofRoutes(new Reach(model)), ...ofListeners(model)]) {
    if (reported.has(policy)) continue
    reported.add(policy)
    yield {
      code: 'PC0219',
      severity: 'error',
      message: `\`${policy.kind}\` is not supported for connections other than HTTP`,
      origin: policy.origin,
      hint: 'use `networkAuthorization` to control who can connect, or remove it',
    }
  }
  for (const policy of ofMixedGateways(model)) {
    yield {
      code: 'PC0221',
      severity: 'warning',
      message: `\`${policy.kind}\` has no effect on the listeners of the gateway that are not HTTP`,
      origin: policy.origin,
      hint: 'use `networkAuthorization` to control who can connect to them',
    }
  }
}

function* ofRoutes(reach: Reach): Generator<Attached> {
  for (const stream of reach.model.tcpRoutes) {
    yield* stream.policies.filter((policy) => !holdsForStreams(policy))
    const refs = stream.action.kind === 'forward' ? stream.action.backends : []
    for (const ref of refs) {
      const backend = reach.backends.get(ref.backend)
      if (backend === undefined) continue
      for (const { policies } of reach.aroundStream({ stream }, { ref, backend })) {
        yield* policies.filter((policy) => !holdsForStreams(policy))
      }
    }
  }
}

function* ofListeners({ gateways }: Model): Generator<Attached> {
  for (const { listeners, policies } of gateways) {
    const streams = listeners.filter(servesStreams)
    for (const listener of streams) yield* listener.policies.filter(isForRequests)
    if (streams.length > 0 && streams.length === listeners.length) {
      yield* policies.filter(isForRequests)
    }
  }
}

/** They hold for some listeners of their gateway, and may be meant for these alone. */
function ofMixedGateways({ gateways }: Model): readonly Attached[] {
  const isMixed = ({ listeners }: Gateway) =>
    listeners.some(servesStreams) && !listeners.every(servesStreams)
  return gateways.filter(isMixed).flatMap(({ policies }) => policies.filter(isForRequests))
}

/** What stands around a route of connections does not reach its backends, either. */
function isForRequests({ section }: Attached): boolean {
  return section !== 'frontend'
}
