import type { Gateway, Listener } from '../model/gateway.ts'
import { reachable } from '../model/hostnames.ts'
import type { Route } from '../model/route.ts'

type Attachable = Pick<Route, 'parents' | 'hostnames'>

/**
 * The hostnames by which requests or connections of a listener come to a route; none: by every name
 * that the listener serves. Undefined where nothing can come to it.
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

/** Whether requests or connections of the listener can come to the route. */
export function isAttached(
  route: Attachable,
  gateway: Pick<Gateway, 'name'>,
  listener: Pick<Listener, 'name' | 'hostname'>,
): boolean {
  return hostnamesOn(route, gateway, listener) !== undefined
}

/** The name that a listener serves; undefined: any. */
export function nameOf({ hostname }: Pick<Listener, 'hostname'>): string | undefined {
  return hostname === '*' ? undefined : hostname
}
