import type { Model } from '../model/model.ts'

/** Merges the Models of several Gateways into one, for callers that inspect all of them. */
export function combineModels(models: Iterable<Model>): Model {
  const routes = new Map<string, Model['routes'][number]>()
  const tcpRoutes = new Map<string, Model['tcpRoutes'][number]>()
  const backends = new Map<string, Model['backends'][number]>()
  const gateways: Model['gateways'][number][] = []
  for (const model of models) {
    gateways.push(...model.gateways)
    for (const route of model.routes) join(routes, route)
    for (const route of model.tcpRoutes) join(tcpRoutes, route)
    for (const backend of model.backends) {
      if (!backends.has(backend.name)) backends.set(backend.name, backend)
    }
  }
  return {
    gateways,
    routes: [...routes.values()],
    tcpRoutes: [...tcpRoutes.values()],
    backends: [...backends.values()],
    frontend: [],
  }
}

/** A route attached to several Gateways is one route with all of its parents. */
function join<T extends { readonly name: string; readonly parents: readonly unknown[] }>(
  known: Map<string, T>,
  route: T,
): void {
  const before = known.get(route.name)
  const parents = [...(before?.parents ?? []), ...route.parents]
  known.set(route.name, before === undefined ? route : { ...before, parents })
}
