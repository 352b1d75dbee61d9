import type {
  Effective,
  EffectiveBackend,
  EffectiveListener,
  EffectiveRoute,
} from '../api/shapes.ts'

/** A path through the gateway to a backend. */
export interface Way {
  readonly listener: EffectiveListener
  readonly route: EffectiveRoute
  readonly backend: EffectiveBackend
}

export function waysTo(effective: Effective | undefined): ReadonlyMap<string, readonly Way[]> {
  const ways = (effective?.listeners ?? []).flatMap((listener) =>
    listener.routes.flatMap((route) =>
      route.backends.map((backend) => ({ listener, route, backend })),
    ),
  )
  return Map.groupBy(ways, ({ backend }) => backend.backend)
}
