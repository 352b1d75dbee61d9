import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Listener } from '../model/gateway.ts'
import type { Model } from '../model/model.ts'
import type { ValidPolicy } from '../model/policy.ts'
import type { Route } from '../model/route.ts'
import {
  backendMaterialFaults,
  materialFaults,
  pairProblem,
  rootProblem,
} from '../policies/tls-materials.ts'
import { visitPolicies, visitRoute } from '../reach/all-layers.ts'
import { Reach } from '../reach/reach.ts'

/** Checks what no schema can: invalid keys and certificates, and pairs that do not match. */
export function checkKeys(model: Model): readonly Diagnostic[] {
  return [
    ...[...new Reach(model).listeners()].flatMap(({ listener }) => checkListener(listener)),
    ...backendPolicies(model).flatMap(backendMaterialFaults),
  ]
}

function checkListener(listener: Listener): readonly Diagnostic[] {
  if (listener.protocol !== 'HTTPS' && listener.protocol !== 'TLS') return []
  const { tls, name, origin } = listener
  if (tls.mode !== 'Terminate') return []
  const problems = tls.certificates.map(({ cert, key }) => pairProblem(cert, key))
  return materialFaults(
    [...problems, rootProblem(tls.clients?.ca)],
    `of the listener \`${name}\``,
    origin,
  )
}

/** All policies of backends, wherever they are attached; each is reported once. */
function backendPolicies(model: Model): readonly ValidPolicy[] {
  const found = new Map<string, ValidPolicy>()
  visitPolicies({ ...model, routes: model.routes.filter(mayHaveKeys) }, (policies) => {
    for (const policy of policies) {
      if (policy.kind === 'backendTLS' && policy.state === 'valid')
        found.set(JSON.stringify(policy.origin), policy)
    }
  })
  return [...found.values()]
}

/** Caches routes without keys: consecutive Models share unchanged routes. */
const KEYLESS = new WeakSet<Route>()

function mayHaveKeys(route: Route): boolean {
  if (KEYLESS.has(route)) return false
  let isKeyless = true
  visitRoute(route, (policies) => {
    isKeyless &&= !policies.some(({ kind }) => kind === 'backendTLS')
  })
  if (isKeyless) KEYLESS.add(route)
  return !isKeyless
}
