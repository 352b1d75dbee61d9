/** The part of `portcullis effective --json` that is used here. */
interface Guarded {
  readonly guards?: readonly { readonly policy: string }[]
}

interface Backend extends Guarded {
  readonly backend: string
  readonly providers?: readonly Guarded[]
  readonly targets?: readonly Guarded[]
}

interface Route extends Guarded {
  readonly route: string
  readonly backends: readonly Backend[]
}

interface Listener extends Guarded {
  readonly gateway: string
  readonly routes: readonly Route[]
}

/** Keeps the paths that the query selects: by what they lead through or what policy guards them. */
export function keepEffective(found: unknown, query: Readonly<Record<string, unknown>>): unknown {
  const { listeners } = found as { readonly listeners: readonly Listener[] }
  const { policy, gateway, route, backend } = query
  const isGuarded = (...things: readonly (Guarded | undefined)[]) =>
    policy === undefined ||
    things.some((one) => one?.guards?.some((guard) => guard.policy === policy))
  const kept = listeners
    .filter((one) => gateway === undefined || one.gateway === gateway)
    .flatMap((listener) => {
      const routes = listener.routes
        .filter((one) => route === undefined || one.route === route)
        .flatMap((one) => {
          const isWhole = isGuarded(listener, one)
          const backends = one.backends.filter(
            (own) =>
              (backend === undefined || own.backend === backend) &&
              (isWhole || isGuarded(own, ...(own.providers ?? []), ...(own.targets ?? []))),
          )
          const isKept =
            backend === undefined ? isWhole || backends.length > 0 : backends.length > 0
          return isKept ? [{ ...one, backends }] : []
        })
      const isOwn = route === undefined && backend === undefined && isGuarded(listener)
      return routes.length > 0 || isOwn ? [{ ...listener, routes }] : []
    })
  return { ...(found as object), listeners: kept }
}
