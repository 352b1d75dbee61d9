import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Report } from '../../diagnostics/report.ts'
import type { McpBackend, ServiceBackend } from '../../model/backend.ts'
import type { Attached } from '../../model/policy.ts'
import type { Route, RouteAction } from '../../model/route.ts'
import { appliesAlways } from '../../policies/schema.ts'
import { RESPONDING } from '../shadowed-policies.ts'
import type { Draft } from './draft.ts'
import type { Place } from './place.ts'

/** Reports what is valid by itself, but serves no clients. */
export function checkReachability(draft: Draft, report: Report): Draft {
  for (const { thing, place } of draft.routes) {
    if (REACHING.has(thing)) continue
    if (thing.rules.every(({ action }) => isServed(action))) {
      REACHING.add(thing)
      continue
    }
    for (const rule of thing.rules) {
      checkAction(report, place, rule.action, thing.policies, rule.policies)
    }
  }
  for (const { thing, place } of draft.tcpRoutes) checkAction(report, place, thing.action)
  for (const { thing, place } of draft.backends) {
    if (thing.kind === 'mcp') reportUnserved(report, place, thing)
    if (thing.kind === 'service' && !draft.resolvesServices) {
      report(unresolvedService(place, thing))
    }
  }
  return draft
}

/** Routes that lead to a backend. Successive Drafts share what did not change. */
const REACHING = new WeakSet<Route>()

function isServed(action: RouteAction): boolean {
  return action.kind === 'invalid' || action.backends.some(({ weight }) => weight > 0)
}

function reportUnserved(report: Report, place: Place, { options }: McpBackend): void {
  if (options.statefulMode === 'Stateless') {
    const message = '`statefulMode: Stateless` is validated, but has no effect in this version'
    const hint = 'session IDs contain the whole state of a session, so any replica can serve it'
    const said = { code: 'PC0220', severity: 'warning', message, hint } as const
    report(place.find(['mcp']).diagnose(said, 'key'))
  }
}

/** Only Kubernetes knows the endpoints, and file mode does not query it. */
function unresolvedService(place: Place, { service, namespace, port }: ServiceBackend): Diagnostic {
  const name = `${service}.${namespace}.svc.cluster.local:${port}`
  const message =
    'the endpoints of a `service` are not looked up in file mode: routes to it respond with 503'
  const hint = `inside a cluster, use \`host: ${name}\``
  const said = { code: 'PC0220', severity: 'warning', message, hint } as const
  return place.find(['service']).diagnose(said, 'key')
}

function checkAction(
  report: Report,
  place: Place,
  action: RouteAction,
  ...policies: readonly (readonly Attached[])[]
): void {
  if (action.kind === 'invalid' || isServed(action)) return
  const isSure = (one: Attached) => one.state !== 'valid' || appliesAlways(one.value)
  if (policies.flat().some((one) => RESPONDING.includes(one.kind) && isSure(one))) return
  const said = place.find(['backends']).diagnose({
    code: 'PC0315',
    severity: 'warning',
    message:
      action.backends.length === 0
        ? 'this route has no backend: it responds with 500'
        : 'all backends have weight 0: this route responds with 500',
    hint: `add a backend, or respond with ${RESPONDING.toReversed()
      .map((kind) => `\`${kind}\``)
      .join(' or ')}`,
  })
  report(said)
}
