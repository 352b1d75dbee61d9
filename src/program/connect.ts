import type { CallService } from '../exchange/service-call.ts'
import type { Target } from '../model/backend.ts'
import type { ValidPolicy } from '../model/policy.ts'
import { effectiveAt } from '../reach/effective.ts'
import type { Reach } from '../reach/reach.ts'
import { serviceCaller } from '../upstream/service-caller.ts'
import { clusterPolicies } from './backend-policies.ts'
import { backendOf, type Clusters, isCallable } from './clusters.ts'

const NOBODY: CallService = () => Promise.resolve({ failure: 'no-backend' })

/**
 * Connects to the service that a policy calls: a backend of the configuration, with its settings,
 * or an address.
 */
export function connectTo(
  { reach, clusters }: { readonly reach: Reach; readonly clusters: Clusters },
  target: Target,
  policy: ValidPolicy,
  version: '1.1' | '2',
): CallService {
  const isNamed = target.kind === 'backend'
  const backend = isNamed ? reach.backends.get(target.backend) : backendOf(target, policy.origin)
  if (!isCallable(backend)) return NOBODY
  const own = reach.behind([], { backend })
  const { byKind, invalid } = effectiveAt(own, 'backend')
  if (invalid.length > 0) return NOBODY
  const known = clusterPolicies([...byKind.values()].flat())
  const policies = version === '2' ? spokenIn(version, known, policy) : known
  const cluster = clusters.open(backend, policies)
  return cluster === undefined ? NOBODY : serviceCaller(cluster)
}

/** The protocol of the policy overrides the protocol that others use for the same backend. */
function spokenIn(
  version: '2',
  policies: readonly ValidPolicy[],
  { kind, origin }: ValidPolicy,
): readonly ValidPolicy[] {
  const http: ValidPolicy = {
    state: 'valid',
    kind: 'http',
    section: 'backend',
    level: 'provider',
    policy: kind,
    origin,
    value: { version },
  }
  return [...policies.filter(({ kind }) => kind !== 'http'), http]
}
