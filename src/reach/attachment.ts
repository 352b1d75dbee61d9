import type { Gateway, Listener } from '../model/gateway.ts'
import { reachable } from '../model/hostnames.ts'
import type { Route } from '../model/route.ts'

type Attachable = Pick<Route, 'parents' | 'hostnames'>

/**
 * The hostnames under which requests or connections of a listener reach a route; empty means every
 * name that the listener serves. Undefined if nothing can reach it.
 */
export function hostnamesOn(
  { parents, hostnames }: Attachable,
  gateway: Pick<Gateway, 'name'>,
  listener: Pick<Listener, 'name' | 'hostname'>,
): readonly string[] | undefined {
  for (const parent of parents) {
    if (parent.gateway !== gateway.name) continue
    if (parent.listener !== undefined && parent.listener !== listener.name) continue
    return reachable(hostnames, nameOf(listener))
  }
  return undefined
}

/** Whether requests or connections of the listener can reach the route. */
export function isAttached(
  route: Attachable,
  gateway: Pick<Gateway, 'name'>,
  listener: Pick<Listener, 'name' | 'hostname'>,
): boolean {
  return hostnamesOn(route, gateway, listener) !== undefined
}

/** The name that a listener serves; undefined means any. */
export function nameOf({ hostname }: Pick<Listener, 'hostname'>): string | undefined {
  return hostname === '*' ? undefined : hostname
}
