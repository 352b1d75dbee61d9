import type { Attached } from '../model/policy.ts'
import type { Route } from '../model/route.ts'
import { kindsThat } from './kinds.ts'
import { decidesAt } from './points.ts'

const OF_ENDPOINTS = kindsThat(({ cluster }) => cluster === 'endpoints')

/**
 * Whether a policy of the route may have no effect, depending on where the route leads. Nearly all
 * of thousands of routes need no check for that.
 */
export function mayLackEffect({ policies, rules }: Route): boolean {
  return (
    policies.some(isDoubtful) ||
    rules.some(
      (rule) =>
        rule.policies.some(isDoubtful) ||
        (rule.action.kind === 'forward' &&
          rule.action.backends.some((ref) => ref.policies.some(isDoubtful))),
    )
  )
}

function isDoubtful(policy: Attached): boolean {
  if (policy.state !== 'valid') return false
  return decidesAt(policy, 'mcp') || (policy.section === 'backend' && OF_ENDPOINTS.has(policy.kind))
}
