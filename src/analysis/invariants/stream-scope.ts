import type { Gateway, Listener } from '../../model/gateway.ts'
import { rankOf } from '../../model/hostnames.ts'
import type { Model } from '../../model/model.ts'
import type { TcpRoute } from '../../model/tcp-route.ts'
import { Reach } from '../../reach/reach.ts'

/**
 * When a connection of the listener is for one of these routes, as an expression: the server name
 * decides, as the gateway reads it. Undefined means always.
 */
export function takenBy(
  model: Model,
  gateway: Gateway,
  listener: Listener,
  isMeant: (route: TcpRoute) => boolean,
): string | undefined {
  const places = [...new Reach(model).streamsOn({ gateway, listener })]
  if (places.every(({ stream }) => isMeant(stream))) return undefined
  const named = places.flatMap(({ stream, hostnames }, order) =>
    (hostnames.length === 0 ? [''] : hostnames).map((name) => ({
      name,
      order,
      isMeant: isMeant(stream),
    })),
  )
  // The gateway uses the same order: the most specific name, and of several the first route.
  named.sort((a, b) => rankOf(b.name) - rankOf(a.name) || a.order - b.order)
  const taken = named.flatMap(({ name, isMeant: isOwn }, index) => {
    if (!isOwn) return []
    const before = named.slice(0, index).filter((other) => !other.isMeant)
    return [[nameText(name), ...before.map((other) => `!(${nameText(other.name)})`)].join(' && ')]
  })
  return taken.length === 0 ? 'false' : taken.map((one) => `(${one})`).join(' || ')
}

/** An empty name matches any server name, and none. */
function nameText(name: string): string {
  if (name === '') return 'true'
  const sent = 'has(destination.hostname) && destination.hostname'
  if (!name.startsWith('*.')) return `${sent} == ${JSON.stringify(name)}`
  const suffix = JSON.stringify(name.slice(1))
  return `${sent}.endsWith(${suffix}) && destination.hostname != ${suffix}`
}
