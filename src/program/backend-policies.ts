import type { Attached, ValidPolicy } from '../model/policy.ts'
import { recordOf } from '../reach/kinds.ts'
import { decidesAt } from '../reach/points.ts'

/** Those that a cluster is made of; the others run for each request. */
export function clusterPolicies(policies: readonly ValidPolicy[]): readonly ValidPolicy[] {
  return policies.filter(({ kind }) => recordOf(kind)?.cluster !== undefined)
}

/** Whether this is for what speaks no MCP: rules about it at a gateway are for others behind it. */
export function isUnderstood(policy: Attached): boolean {
  const { level } = policy
  return !decidesAt(policy, 'mcp') || (level !== 'gateway' && level !== 'listener')
}
