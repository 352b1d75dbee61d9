import { canonicalJson } from '../../model/json.ts'
import type { Model } from '../../model/model.ts'
import { isPlace } from '../../model/places.ts'
import type { Route } from '../../model/route.ts'

/**
 * The routes whose policies and backends differ, if nothing else does: the others receive the same
 * requests as before and decide them in the same way. Undefined if anything else differs.
 */
export function changedRoutes(before: Model, after: Model): ReadonlySet<string> | undefined {
  if (!isSame({ ...before, routes: [] }, { ...after, routes: [] })) return undefined
  const [old, now] = [before.routes, after.routes]
  if (old.length !== now.length || new Set(now.map(({ name }) => name)).size < now.length) {
    return undefined
  }
  const changed = new Set<string>()
  for (const [index, route] of now.entries()) {
    const was = old[index] as Route
    if (isSame(was, route)) continue
    if (!isSame(receiving(was), receiving(route))) return undefined
    changed.add(route.name)
  }
  return changed
}

/** What determines the requests that a route receives: all of it except for these fields. */
function receiving({ policies: _, rules, ...route }: Route): unknown {
  return { ...route, rules: rules.map(({ policies: _, action: __, ...rule }) => rule) }
}

/** Whether two parts of Models are equal, wherever they are written. */
export function isSame(a: unknown, b: unknown): boolean {
  return a === b || canonicalJson(a, isPlace) === canonicalJson(b, isPlace)
}
