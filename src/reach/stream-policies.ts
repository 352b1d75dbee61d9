import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import { type Gateway, servesStreams } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import { recordOf } from './kinds.ts'
import { Reach } from './reach.ts'

/*
 * The policies that apply to connections other than HTTP. There are no requests to decide about, so
 * only policies that define how to connect to a backend can apply. The others are rejected: a rule
 * that is not enforced looks like protection and is none.
 */

export function holdsForStreams({ section, kind }: Attached): boolean {
  return section === 'backend' && recordOf(kind)?.cluster !== undefined
}

/** Reports all policies that would have to apply to connections and do not. */
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

/** They apply to some listeners of their gateway, and may be meant only for these. */
function ofMixedGateways({ gateways }: Model): readonly Attached[] {
  const isMixed = ({ listeners }: Gateway) =>
    listeners.some(servesStreams) && !listeners.every(servesStreams)
  return gateways.filter(isMixed).flatMap(({ policies }) => policies.filter(isForRequests))
}

/** Policies around a TCP route do not reach its backends, either. */
function isForRequests({ section }: Attached): boolean {
  return section !== 'frontend'
}
