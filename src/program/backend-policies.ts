import type { Attached, ValidPolicy } from '../model/policy.ts'
import { CLUSTER_KINDS } from '../policies/cluster-kinds.ts'

/** Those that a cluster is made of; the others run for each request. */
export function clusterPolicies(policies: readonly ValidPolicy[]): readonly ValidPolicy[] {
  return policies.filter(({ kind }) => CLUSTER_KINDS.has(kind))
}

/** Whether this is for what speaks no MCP: rules about it at a gateway are for others behind it. */
export function isUnderstood({ kind, level }: Attached): boolean {
  return kind !== 'mcpAuthorization' || (level !== 'gateway' && level !== 'listener')
}
