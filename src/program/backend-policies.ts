import type { ValidPolicy } from '../model/policy.ts'
import { recordOf } from '../reach/kinds.ts'

/** The policies that configure a cluster; the others run for each request. */
export function clusterPolicies(policies: readonly ValidPolicy[]): readonly ValidPolicy[] {
  return policies.filter(({ kind }) => recordOf(kind)?.cluster !== undefined)
}
