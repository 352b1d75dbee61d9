import type { Gateway, Listener } from './gateway.ts'
import { reachable } from './hostnames.ts'
import type { Route } from './route.ts'

/** Whether requests of the listener can come to the route: by name of the gateway and by host. */
export function isAttached(
  { parents, hostnames }: Pick<Route, 'parents' | 'hostnames'>,
  gateway: Pick<Gateway, 'name'>,
  listener: Pick<Listener, 'name' | 'hostname'>,
): boolean {
  const isParent = parents.some(
    (parent) =>
      parent.gateway === gateway.name &&
      (parent.listener === undefined || parent.listener === listener.name),
  )
  return isParent && reachable(hostnames, nameOf(listener)) !== undefined
}

/** The name that a listener serves; undefined: any. */
export function nameOf({ hostname }: Pick<Listener, 'hostname'>): string | undefined {
  return hostname === '*' ? undefined : hostname
}
