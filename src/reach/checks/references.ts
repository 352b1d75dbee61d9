import { nearestName } from '../../diagnostics/nearest.ts'
import type { Report } from '../../diagnostics/report.ts'
import type { Backend } from '../../model/backend.ts'
import type { Gateway } from '../../model/gateway.ts'
import { reachable } from '../../model/hostnames.ts'
import type { Parent, Route } from '../../model/route.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import type { BackendReference, Draft, Placed } from './draft.ts'
import type { Place } from './place.ts'

/** Backends that are named but not defined become ones that respond with 500. */
export function resolveBackends(draft: Draft, report: Report): Draft {
  if (draft.references.length === 0) return draft
  const byName = new Map(draft.backends.map(({ thing }) => [thing.name, thing]))
  // A backend that a route defines in place belongs to that route.
  const listed = () =>
    draft.backends.filter(({ owner }) => owner === undefined).map(({ thing }) => thing.name)
  const missing = new Map<string, Placed<Extract<Backend, { kind: 'invalid' }>>>()
  for (const reference of draft.references) {
    const { backend: name, place } = reference
    const known = byName.get(name)
    if (known !== undefined) {
      checkCallable(report, reference, known)
      continue
    }
    const said = place.diagnose({
      code: 'PC0302',
      message: `unknown backend \`${name}\``,
      hint: backendHint(name, listed()),
    })
    report(said)
    const before = missing.get(name)
    const { origin } = before?.thing ?? place
    const diagnostics = [...(before?.thing.diagnostics ?? []), said]
    const thing = { kind: 'invalid', name, origin, policies: [], diagnostics } as const
    missing.set(name, { thing, place: before?.place ?? place })
  }
  return { ...draft, backends: [...draft.backends, ...missing.values()] }
}

function checkCallable(
  report: Report,
  { place, isRouted }: BackendReference,
  known: Backend,
): void {
  const { name, kind } = known
  if (isRouted || (kind !== 'ai' && kind !== 'mcp')) return
  const said = place.diagnose({
    code: 'PC0317',
    message: `\`${name}\` is an \`${kind}\` backend, which only HTTP routes can use`,
    hint: 'use a backend with addresses, or set an address with `host`',
  })
  report(said)
}

function backendHint(name: string, known: readonly string[]): string {
  const meant = nearestName(name, known)
  if (meant !== undefined) return `did you mean \`${meant}\`?`
  const all =
    known.length === 0 ? 'none are defined' : `available: ${known.slice(0, 12).join(', ')}`
  return `define it under \`backends\`; ${all}`
}

/** The gateways that routes are attached to, and the listeners among them that can serve them. */
export function resolveParents(draft: Draft, report: Report): Draft {
  const gateways = new Map(draft.gateways.map(({ thing }) => [thing.name, thing]))
  // Thousands of routes have the same ones.
  const served: Partial<Record<'HTTP' | 'TCP', readonly Parent[]>> = {}
  const open = { HTTP: openGateways(draft, 'HTTP'), TCP: openGateways(draft, 'TCP') }
  const resolve = <P extends Placed<Route | TcpRoute>>(placed: P, kind: 'HTTP' | 'TCP'): P => {
    const { thing, place } = placed
    if (thing.parents === served[kind]) return placed
    const isServed = ({ gateway, listener }: Parent) =>
      listener === undefined && open[kind].has(gateway)
    if (thing.parents.every(isServed)) {
      served[kind] = thing.parents
      return placed
    }
    let parents: Parent[] | undefined
    for (const [index, parent] of thing.parents.entries()) {
      const find = () => place.find(['gateways', index], ['gateways'])
      const resolved = resolveParent(report, gateways, parent, find)
      checkParent(report, gateways, thing, resolved, find, kind)
      if (resolved === parent) continue
      parents ??= [...thing.parents]
      parents[index] = resolved
    }
    return parents === undefined ? placed : { ...placed, thing: { ...thing, parents } }
  }
  return {
    ...draft,
    routes: draft.routes.map((route) => resolve(route, 'HTTP')),
    tcpRoutes: draft.tcpRoutes.map((route) => resolve(route, 'TCP')),
  }
}

/** Gateways that serve every route of the kind, whatever its names: nothing else to check. */
function openGateways({ gateways }: Draft, kind: 'HTTP' | 'TCP'): ReadonlySet<string> {
  const served: readonly string[] = SERVED[kind]
  const isOpen = ({ listeners }: Gateway) =>
    listeners.some(({ protocol, hostname }) => served.includes(protocol) && hostname === undefined)
  return new Set(gateways.flatMap(({ thing }) => (isOpen(thing) ? [thing.name] : [])))
}

type Gateways = ReadonlyMap<string, Gateway>
/** Called only if there is something to report. */
type FindPlace = () => Place

function resolveParent(
  report: Report,
  gateways: Gateways,
  parent: Parent,
  find: FindPlace,
): Parent {
  if (gateways.has(parent.gateway)) return parent
  const slash = parent.gateway.lastIndexOf('/')
  const gateway = gateways.get(parent.gateway.slice(0, Math.max(slash, 0)))
  if (gateway !== undefined) {
    const listener = parent.gateway.slice(slash + 1)
    if (gateway.listeners.some(({ name }) => name === listener)) {
      return { gateway: gateway.name, listener }
    }
    const names = gateway.listeners.map(({ name }) => name)
    const meant = nearestName(listener, names)
    report(
      find().diagnose({
        code: 'PC0301',
        message: `gateway \`${gateway.name}\` has no listener \`${listener}\``,
        hint:
          meant === undefined
            ? `available listeners: ${names.join(', ')}`
            : `did you mean \`${meant}\`?`,
      }),
    )
    return { gateway: gateway.name, listener }
  }
  const names = [...gateways.keys()]
  const meant = nearestName(parent.gateway, names)
  report(
    find().diagnose({
      code: 'PC0301',
      message: `unknown gateway \`${parent.gateway}\``,
      hint: gatewayHint(names, meant),
    }),
  )
  return parent
}

function gatewayHint(names: readonly string[], meant: string | undefined): string {
  if (names.length === 0) return 'define a gateway: `gateways: {default: {port: 8080}}`'
  if (meant !== undefined) return `did you mean \`${meant}\`?`
  return `available gateways: ${names.slice(0, 12).join(', ')}`
}

const SERVED = { HTTP: ['HTTP', 'HTTPS'], TCP: ['TCP', 'TLS'] } as const

function checkParent(
  report: Report,
  gateways: Gateways,
  route: Route | TcpRoute,
  { gateway: name, listener: only }: Parent,
  find: FindPlace,
  kind: 'HTTP' | 'TCP',
): void {
  const gateway = gateways.get(name)
  const listeners = gateway === undefined ? [] : listenersOf(gateway, only)
  if (listeners.length === 0) return
  const served: readonly string[] = SERVED[kind]
  const fitting = listeners.filter(({ protocol }) => served.includes(protocol))
  if (fitting.length === 0) {
    const protocols = [...new Set(listeners.map(({ protocol }) => protocol))].join(', ')
    const [here, other] = kind === 'HTTP' ? ['routes', 'tcpRoutes'] : ['tcpRoutes', 'routes']
    report(
      find().diagnose({
        code: 'PC0312',
        message: `\`${here}\` cannot be attached to \`${name}\`, which uses ${protocols}`,
        hint: `move it to \`${other}\`, or attach it to a gateway that uses ${served.join(' or ')}`,
      }),
    )
  } else if (fitting.every(({ hostname }) => reachable(route.hostnames, hostname) === undefined)) {
    const names = [...new Set(fitting.map(({ hostname }) => hostname))].join(', ')
    report(
      find().diagnose({
        code: 'PC0313',
        severity: 'warning',
        message: `this route is unreachable: \`${name}\` only serves ${names}`,
        hint: 'at least one of its `hostnames` must match a listener',
      }),
    )
  }
}

function listenersOf({ listeners }: Gateway, only: string | undefined) {
  return listeners.filter(
    ({ protocol, name }) => protocol !== 'Invalid' && (only === undefined || name === only),
  )
}
