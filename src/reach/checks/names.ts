import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Report } from '../../diagnostics/report.ts'
import type { Gateway, Listener } from '../../model/gateway.ts'
import type { Route } from '../../model/route.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import type { Draft, Placed, PlacedBackend, Targeted } from './draft.ts'
import type { Place } from './place.ts'

/** If names are not unique, the later objects become invalid, under a name of their own. */
export function checkNames(draft: Draft, report: Report): Draft {
  const routes = unique(
    report,
    'route',
    draft.routes,
    (route, diagnostics): Route => ({
      ...route,
      rules: route.rules.map((rule) => ({ ...rule, action: { kind: 'invalid', diagnostics } })),
    }),
  )
  const tcpRoutes = unique(
    report,
    'route',
    draft.tcpRoutes,
    (route, diagnostics): TcpRoute => ({
      ...route,
      action: { kind: 'invalid', diagnostics },
    }),
  )
  const invalid = new Set<object>([
    ...renamed(draft.routes, routes),
    ...renamed(draft.tcpRoutes, tcpRoutes),
  ])
  // It is named after its route, so the duplicate name is not in the configuration.
  const isOfInvalid = ({ owner }: PlacedBackend) => owner !== undefined && invalid.has(owner)
  return {
    ...draft,
    gateways: unique(report, 'gateway', draft.gateways, withoutListeners).map(
      ({ thing, place }) => ({ thing: withUniqueListeners(report, thing, place), place }),
    ),
    routes,
    tcpRoutes,
    backends: unique<PlacedBackend>(
      report,
      'backend',
      draft.backends,
      ({ name, origin, policies }, diagnostics) => ({
        kind: 'invalid',
        name,
        origin,
        policies,
        diagnostics,
      }),
      isOfInvalid,
    ),
    targeted: checkPolicies(report, draft.targeted),
  }
}

/** The previous items that have another name now. */
function renamed<T extends Placed<{ readonly name: string }>>(
  before: readonly T[],
  after: readonly T[],
): readonly T[] {
  if (after === before) return []
  return before.filter(({ thing }, index) => thing.name !== after[index]?.thing.name)
}

/** The name decides whose claims a rule may see: two policies of one name would share theirs. */
function checkPolicies(report: Report, targeted: readonly Targeted[]): readonly Targeted[] {
  const firsts = new Map<string, Place>()
  return targeted.map((one) => {
    const first = firsts.get(one.name) ?? one.whole
    firsts.set(one.name, first)
    if (first === one.whole) return one
    const said = nameTaken('policy', one.name, one.whole.find(['name']))
    report(said)
    const policies = one.policies.map(({ kind, section, level, policy, origin }) => {
      return {
        state: 'invalid',
        kind,
        section,
        level,
        policy,
        origin,
        diagnostics: [said],
      } as const
    })
    return { ...one, policies }
  })
}

function nameTaken(noun: string, name: string, place: Place): Diagnostic {
  return place.diagnose({
    code: 'PC0303',
    message: `another ${noun} is already named \`${name}\``,
    hint: 'use a unique name for each',
  })
}

type Diagnostics = readonly Diagnostic[]

function unique<P extends Placed<{ readonly name: string }>>(
  report: Report,
  noun: string,
  list: readonly P[],
  invalidate: (thing: P['thing'], diagnostics: Diagnostics) => P['thing'],
  isReported: (placed: P) => boolean = () => false,
): readonly P[] {
  if (areUnique(list)) return list
  const seen = new Set<string>()
  return list.map((placed) => {
    const { thing, place } = placed
    if (!seen.has(thing.name)) {
      seen.add(thing.name)
      return placed
    }
    const said = isReported(placed) ? [] : [nameTaken(noun, thing.name, place.find(['name']))]
    for (const one of said) report(one)
    let count = 2
    while (seen.has(`${thing.name}#${count}`)) count++
    const name = `${thing.name}#${count}`
    seen.add(name)
    return { ...placed, thing: { ...invalidate(thing, said), name } }
  })
}

/** Nearly always true; the list is then left unchanged. */
function areUnique(list: readonly Placed<{ readonly name: string }>[]): boolean {
  const names = new Set<string>()
  for (const { thing } of list) names.add(thing.name)
  return names.size === list.length
}

function withUniqueListeners(report: Report, gateway: Gateway, place: Place): Gateway {
  const placed = gateway.listeners.map((thing, index) => ({
    thing,
    place: place.find(['listeners', index]),
  }))
  const listeners = unique(report, 'listener', placed, invalidListener)
  return { ...gateway, listeners: listeners.map(({ thing }) => thing) }
}

function withoutListeners(gateway: Gateway, diagnostics: Diagnostics): Gateway {
  const listeners = gateway.listeners.map((listener) => invalidListener(listener, diagnostics))
  return { ...gateway, listeners }
}

/** A listener that closes the connections that it would have served. */
function invalidListener(listener: Listener, diagnostics: Diagnostics): Listener {
  const { name, origin, policies, port, hostname } = listener
  return {
    name,
    origin,
    policies,
    protocol: 'Invalid',
    diagnostics,
    ...(port === undefined ? {} : { port }),
    ...(hostname === undefined ? {} : { hostname }),
  }
}
