import type { Backend } from '../../model/backend.ts'
import type { Gateway } from '../../model/gateway.ts'
import type { Route } from '../../model/route.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import { hasPath } from './document.ts'
import type { Draft, Placed } from './draft.ts'
import { complain, type Reading } from './reading.ts'

/** Of things with the same name the later ones are invalid, under a name of their own. */
export function checkNames(reading: Reading, draft: Draft): Draft {
  return {
    ...draft,
    gateways: unique<Gateway>(reading, 'gateway', draft.gateways, (gateway) => gateway).map(
      ({ thing, path }) => ({ thing: withUniqueListeners(reading, thing, path), path }),
    ),
    routes: unique<Route>(reading, 'route', draft.routes, (route, diagnostics) => ({
      ...route,
      rules: route.rules.map((rule) => ({ ...rule, action: { kind: 'invalid', diagnostics } })),
    })),
    tcpRoutes: unique<TcpRoute>(reading, 'route', draft.tcpRoutes, (route, diagnostics) => ({
      ...route,
      action: { kind: 'invalid', diagnostics },
    })),
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
    ),
  }
}

type Diagnostics = readonly ReturnType<typeof complain>[]

function unique<T extends { readonly name: string }>(
  reading: Reading,
  noun: string,
  list: readonly Placed<T>[],
  invalidate: (thing: T, diagnostics: Diagnostics) => T,
): readonly Placed<T>[] {
  const seen = new Set<string>()
  return list.map(({ thing, path }) => {
    if (!seen.has(thing.name)) {
      seen.add(thing.name)
      return { thing, path }
    }
    const named = [...path, 'name']
    const said = complain(reading, hasPath(reading.document, named) ? named : path, {
      code: 'PC0303',
      message: `another ${noun} is called \`${thing.name}\` already`,
      hint: 'give each a name of its own',
    })
    let count = 2
    while (seen.has(`${thing.name}#${count}`)) count++
    const name = `${thing.name}#${count}`
    seen.add(name)
    return { thing: { ...invalidate(thing, [said]), name }, path }
  })
}

function withUniqueListeners(reading: Reading, gateway: Gateway, path: Placed<Gateway>['path']) {
  const placed = gateway.listeners.map((thing, index) => ({
    thing,
    path: [...path, 'listeners', index],
  }))
  const listeners = unique(reading, 'listener', placed, (listener, diagnostics) => {
    const { name, origin, policies, port } = listener
    const invalid = { name, origin, policies, protocol: 'Invalid', diagnostics } as const
    return port === undefined ? invalid : { ...invalid, port }
  })
  return { ...gateway, listeners: listeners.map(({ thing }) => thing) }
}
