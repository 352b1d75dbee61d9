import type { ServiceBackend } from '../../model/backend.ts'
import type { Attached } from '../../model/policy.ts'
import type { RouteAction } from '../../model/route.ts'
import { appliesAlways } from '../../policies/schema.ts'
import { ANSWERS } from '../../reach/shadowed-policies.ts'
import { hasPath, type Path } from './document.ts'
import type { Draft } from './draft.ts'
import { complain, type Reading } from './reading.ts'

/** What is in order by itself, and yet answers nobody. */
export function checkReachability(reading: Reading, draft: Draft): Draft {
  for (const { thing, path } of draft.routes) {
    for (const rule of thing.rules) {
      checkAction(reading, path, rule.action, thing.policies, rule.policies)
    }
  }
  for (const { thing, path } of draft.tcpRoutes) checkAction(reading, path, thing.action)
  const unserved = draft.backends.find(({ thing }) => thing.kind === 'mcp')
  if (unserved !== undefined) {
    complain(
      reading,
      [...unserved.path, 'mcp'],
      {
        code: 'PC0220',
        severity: 'warning',
        message:
          'MCP is not served by this version: backends of the kind `mcp` and their rules are checked',
        hint: 'requests that their rules admit are answered with 500, and reach no server',
      },
      'key',
    )
  }
  for (const { thing, path } of draft.backends) {
    if (thing.kind === 'service') checkService(reading, path, thing)
  }
  return draft
}

/** Where its endpoints are is known to Kubernetes alone, which a file does not ask. */
function checkService(
  reading: Reading,
  path: Path,
  { service, namespace, port }: ServiceBackend,
): void {
  const name = `${service}.${namespace}.svc.cluster.local:${port}`
  complain(
    reading,
    [...path, 'service'],
    {
      code: 'PC0220',
      severity: 'warning',
      message: 'endpoints of a `service` are not looked up for a file: routes to it answer 503',
      hint: `inside a cluster write \`host: ${name}\``,
    },
    'key',
  )
}

function checkAction(
  reading: Reading,
  path: Path,
  action: RouteAction,
  ...policies: readonly (readonly Attached[])[]
): void {
  if (action.kind === 'invalid' || action.backends.some(({ weight }) => weight > 0)) return
  const isSure = (one: Attached) => one.state !== 'valid' || appliesAlways(one.value)
  if (policies.flat().some((one) => ANSWERS.includes(one.kind) && isSure(one))) return
  const backends = [...path, 'backends']
  complain(reading, hasPath(reading.document, backends) ? backends : path, {
    code: 'PC0315',
    severity: 'warning',
    message:
      action.backends.length === 0
        ? 'this route has no backend: it answers 500'
        : 'all backends have the weight 0: this route answers 500',
    hint: `add a backend, or answer with ${ANSWERS.toReversed()
      .map((kind) => `\`${kind}\``)
      .join(' or ')}`,
  })
}
