export const ROUTES = 5_000
const BACKENDS = 500

export interface WrittenRoute {
  readonly name: string
  readonly path: string
  readonly hostnames: readonly string[]
  readonly rules: readonly { readonly action: 'require' | 'deny'; readonly expression: string }[]
  readonly backend: string
}

export interface WrittenBackend {
  readonly name: string
  readonly host: string
}

/** Immutable: edits replace objects, so an identical object is unchanged. */
export interface Configuration {
  readonly routes: WrittenRoute[]
  readonly backends: WrittenBackend[]
}

export function configuration(hostnames: (n: number) => readonly string[]): Configuration {
  return {
    routes: Array.from({ length: ROUTES }, (_, n) => ({
      name: `route-${n}`,
      path: `/service-${n}`,
      hostnames: hostnames(n),
      rules: [{ action: 'require', expression: `request.headers['x-team'] == 'team-${n % 50}'` }],
      backend: `up-${n % BACKENDS}`,
    })),
    backends: Array.from({ length: BACKENDS }, (_, n) => ({
      name: `up-${n}`,
      host: `127.0.0.1:${24_200 + n}`,
    })),
  }
}

export type Edit = (configuration: Configuration, round: number) => void

function changeRoute(change: (route: WrittenRoute, round: number) => WrittenRoute): Edit {
  return ({ routes }, round) => {
    const at = (round * 97) % routes.length
    routes[at] = change(routes[at] as WrittenRoute, round)
  }
}

/** Edits keep all line numbers unless their name says otherwise. */
export const EDITS: Readonly<Record<string, Edit>> = {
  'a path': changeRoute((route, round) => ({ ...route, path: `/changed-${round}` })),
  'the rule of a route': changeRoute((route, round) => ({
    ...route,
    rules: [{ action: 'require', expression: `request.headers['x-team'] == 'new-${round}'` }],
  })),
  'a backend, which 10 routes have': ({ backends }, round) => {
    const at = round % BACKENDS
    const { name } = backends[at] as WrittenBackend
    backends[at] = { name, host: `127.0.0.1:${25_000 + round}` }
  },
  'a rule more, which moves all below': changeRoute((route, round) => ({
    ...route,
    rules: [...route.rules, { action: 'deny', expression: `request.path == '/secret-${round}'` }],
  })),
  'a route more at the top': ({ routes }, round) => {
    const [first] = routes as [WrittenRoute]
    routes.unshift({ ...first, name: `more-${round}`, path: `/more-${round}` })
  },
  'a route less': ({ routes }, round) => void routes.splice((round * 97) % routes.length, 1),
}
