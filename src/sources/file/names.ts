import type { Backend } from '../../model/backend.ts'
import type { Gateway, Listener } from '../../model/gateway.ts'
import type { Route } from '../../model/route.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import { hasPath, type Path } from './document.ts'
import type { Draft, Placed, Targeted } from './draft.ts'
import { complain, type Reading } from './reading.ts'

/** Of things with the same name the later ones are invalid, under a name of their own. */
export function checkNames(reading: Reading, draft: Draft): Draft {
  const routes = unique<Route>(reading, 'route', draft.routes, (route, diagnostics) => ({
    ...route,
    rules: route.rules.map((rule) => ({ ...rule, action: { kind: 'invalid', diagnostics } })),
  }))
  const tcpRoutes = unique<TcpRoute>(reading, 'route', draft.tcpRoutes, (route, diagnostics) => ({
    ...route,
    action: { kind: 'invalid', diagnostics },
  }))
  const invalid = [
    ...renamedPaths(draft.routes, routes),
    ...renamedPaths(draft.tcpRoutes, tcpRoutes),
  ]
  // Named after its route, so that nobody wrote the name that is there twice.
  const isOfInvalid = (path: Path) => invalid.some((route) => isBelow(path, route))
  return {
    ...draft,
    gateways: unique<Gateway>(reading, 'gateway', draft.gateways, withoutListeners).map(
      ({ thing, path }) => ({ thing: withUniqueListeners(reading, thing, path), path }),
    ),
    routes,
    tcpRoutes,
    backends: unique<Backend>(
      reading,
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
    targeted: checkPolicies(reading, draft.targeted),
  }
}

function renamedPaths<T extends { readonly name: string }>(
  before: readonly Placed<T>[],
  after: readonly Placed<T>[],
): readonly Path[] {
  return after.filter(({ thing }, index) => thing.name !== before[index]?.thing.name).map(pathOf)
}

function pathOf({ path }: Placed<unknown>): Path {
  return path
}

function isBelow(path: Path, above: Path): boolean {
  return above.every((step, index) => path[index] === step)
}

/** A name is what tells whose claims a rule may see: two policies of one name would lend theirs. */
function checkPolicies(reading: Reading, targeted: readonly Targeted[]): readonly Targeted[] {
  const entries = new Map<string, Path[number]>()
  return targeted.map((one) => {
    const [, entry = ''] = one.path
    const first = entries.get(one.name) ?? entry
    entries.set(one.name, first)
    if (first === entry) return one
    const said = complainOfName(reading, 'policy', one.name, ['policies', entry, 'name'])
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

function complainOfName(reading: Reading, noun: string, name: string, path: Path) {
  return complain(reading, path, {
    code: 'PC0303',
    message: `another ${noun} is called \`${name}\` already`,
    hint: 'give each a name of its own',
  })
}

type Diagnostics = readonly ReturnType<typeof complain>[]

function unique<T extends { readonly name: string }>(
  reading: Reading,
  noun: string,
  list: readonly Placed<T>[],
  invalidate: (thing: T, diagnostics: Diagnostics) => T,
  isReported: (path: Path) => boolean = () => false,
): readonly Placed<T>[] {
  const seen = new Set<string>()
  return list.map((placed) => {
    const { thing, path } = placed
    if (!seen.has(thing.name)) {
      seen.add(thing.name)
      return placed
    }
    const named = [...path, 'name']
    const at = hasPath(reading.document, named) ? named : path
    const said = isReported(path) ? [] : [complainOfName(reading, noun, thing.name, at)]
    let count = 2
    while (seen.has(`${thing.name}#${count}`)) count++
    const name = `${thing.name}#${count}`
    seen.add(name)
    return { thing: { ...invalidate(thing, said), name }, path }
  })
}

function withUniqueListeners(reading: Reading, gateway: Gateway, path: Placed<Gateway>['path']) {
  const placed = gateway.listeners.map((thing, index) => ({
    thing,
    path: [...path, 'listeners', index],
  }))
  const listeners = unique(reading, 'listener', placed, invalidListener)
  return { ...gateway, listeners: listeners.map(({ thing }) => thing) }
}

function withoutListeners(gateway: Gateway, diagnostics: Diagnostics): Gateway {
  const listeners = gateway.listeners.map((listener) => invalidListener(listener, diagnostics))
  return { ...gateway, listeners }
}

/** Closes the connections that it would have served. */
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
