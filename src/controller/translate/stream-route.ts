import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Attached } from '../../model/policy.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import { GATEWAY_API } from '../resources/metadata.ts'
import type { StreamRouteObject } from '../resources/routes.ts'
import type { Rejection, Verdict } from './conditions.ts'
import type { Resolve } from './references.ts'
import { isOfRule, modelName } from './route-rules.ts'
import { complaint, originOf, type Read, verdictOn } from './view.ts'

/** A TLSRoute or a TCPRoute: connections without a backend are closed. */
export function readStreamRoute(
  { resolve, attached }: { readonly resolve: Resolve; readonly attached: readonly Attached[] },
  read: Read<StreamRouteObject>,
): {
  readonly route: Omit<TcpRoute, 'parents'>
  readonly resolved: readonly Verdict[]
  readonly problems: readonly Rejection[]
} {
  const from = { group: GATEWAY_API, kind: read.kind, namespace: read.namespace }
  const resolved: Verdict[] = []
  // Rules have no matches, so the first one applies to every connection.
  const refs = (read.value.spec.rules[0]?.backendRefs ?? []).map((ref, index) => {
    const origin = originOf(read, `spec.rules[0].backendRefs[${index}]`)
    const { backend, verdict } = resolve(from, ref, origin)
    resolved.push(verdict)
    return { backend, weight: ref.weight, policies: [] }
  })
  const identity = {
    name: modelName(read),
    origin: originOf(read, 'spec'),
    hostnames: read.value.spec.hostnames.map((name) => name.toLowerCase()),
    policies: attached,
  }
  const invalid = (diagnostics: readonly Diagnostic[], problems: readonly Rejection[]) => {
    return {
      route: { ...identity, action: { kind: 'invalid', diagnostics } },
      resolved,
      problems,
    } as const
  }
  if (read.problems.length > 0) {
    const rules = verdictOn(read.problems.filter(({ path }) => isOfRule(path)))
    const said = read.problems.map(({ diagnostic }) => diagnostic)
    return invalid(said, rules.ok ? [] : [rules])
  }
  if (refs.length === 0) {
    return invalid([complaint(read, 'spec.rules', 'PC0702', 'the route has no backend')], [])
  }
  const action = { kind: 'forward', backends: refs } as const
  return { route: { ...identity, action }, resolved, problems: [] }
}
