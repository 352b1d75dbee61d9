import type { Diagnostic } from '../diagnostics/diagnostic.ts'
import type { Model } from '../model/model.ts'
import type { Attached } from '../model/policy.ts'
import type { Route } from '../model/route.ts'
import { appliesAlways } from '../policies/schema.ts'
import { visitPolicies, visitRoute } from './all-layers.ts'
import { kindsThat, recordOf } from './kinds.ts'

/** Policies that send responses themselves, in the order in which they run. */
export const RESPONDING: readonly string[] = [
  ...kindsThat(({ repliesTo }) => repliesTo === 'requests'),
]
/** Policies that are only for requests forwarded to a backend. */
const ON_THE_WAY = kindsThat(({ isForForwarding }) => isForForwarding)

/** Reports settings without effect because of other settings of their policy or their route. */
export function shadowedPolicies(model: Model): Iterable<Diagnostic> {
  // A policy that is attached to several places is one policy.
  const found = new Map<string, Diagnostic>()
  visitPolicies({ ...model, routes: model.routes.filter(mayShadow) }, (policies) => {
    for (const diagnostic of shadowsAmong(policies)) {
      const key = JSON.stringify(diagnostic)
      if (!found.has(key)) found.set(key, diagnostic)
    }
  })
  return found.values()
}

/** Routes without findings. Successive Models share what did not change. */
const CLEAR = new WeakSet<Route>()

function mayShadow(route: Route): boolean {
  if (CLEAR.has(route)) return false
  let isClear = true
  visitRoute(route, (policies) => {
    isClear &&= shadowsAmong(policies).length === 0
  })
  if (isClear) CLEAR.add(route)
  return !isClear
}

function shadowsAmong(policies: readonly Attached[]): readonly Diagnostic[] {
  const found: Diagnostic[] = []
  const report = ({ origin }: Attached, message: string, hint: string) =>
    found.push({ code: 'PC0222', severity: 'warning', message, origin, hint })
  const isSure = (one: Attached) => one.state !== 'valid' || appliesAlways(one.value)
  const first = RESPONDING.find((kind) => policies.some((one) => one.kind === kind && isSure(one)))
  for (const policy of policies) {
    const { kind } = policy
    // Once it is fixed, any remaining findings are reported.
    if (policy.state !== 'valid') continue
    const idle = recordOf(kind)?.neverReached?.(policy.value as never)
    if (idle !== undefined) report(policy, idle.message, idle.hint)
    if (first === undefined || kind === first) continue
    if (!ON_THE_WAY.has(kind) && !RESPONDING.includes(kind)) continue
    const message = `\`${kind}\` has no effect: \`${first}\` responds to every request first`
    report(policy, message, 'remove one of them, or use two routes')
  }
  return found
}
