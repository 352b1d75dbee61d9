import { isTree, type Tree, withValue } from './document.ts'
import { condition } from './expressions.ts'
import {
  type Feature,
  firstBackend,
  isNobody,
  NOBODY,
  onGatewayOrRoutes,
  routesIn,
  SCOPE,
  spareHost,
  withPolicies,
} from './feature-edits.ts'
import type { Random } from './random.ts'

const SERVER_NAMES = ['a.test', 'b.test', '*.test'] as const

/** Services that are called or that count, and backends with several providers. */
export const SERVICES: Readonly<Record<string, Feature>> = {
  /** A second route for connections by name; both may have no backend. */
  streams: {
    share: 0.3,
    add: (random, tree, place) => {
      const routes = tree['tcpRoutes'] as readonly Tree[] | undefined
      const host = spareHost(tree, place)
      const isNamed = JSON.stringify(tree['gateways']).includes('"protocol":"TLS"')
      if (routes === undefined || host === undefined || !isNamed) return undefined
      const names = { hostnames: [random.pick(SERVER_NAMES)] }
      const own = { name: 't1', gateways: ['stream'], ...names }
      return {
        ...tree,
        tcpRoutes: [{ ...own, backends: [{ host, weight: random.int(2) }] }, ...routes],
      }
    },
    change: (random, tree) => {
      const [first, second] = (tree['tcpRoutes'] ?? []) as readonly Tree[]
      if (first === undefined || second === undefined) return undefined
      const [backend] = first['backends'] as readonly Tree[]
      return random.chance(0.5)
        ? withValue(tree, ['tcpRoutes', 0, 'hostnames'], [random.pick(SERVER_NAMES)])
        : withValue(tree, ['tcpRoutes', 0, 'backends', 0], { ...backend, weight: random.int(2) })
    },
  },
  /** A service that allows everything, or one that is unreachable; sometimes conditional. */
  asked: {
    share: 0.03,
    add: (random, tree, place) => {
      const host = spareHost(tree, place)
      if (host === undefined) return undefined
      return onGatewayOrRoutes(random, tree, (own) => ({ extAuthz: question(own, host) }))
    },
    change: (random, tree) => {
      const index = routesIn(tree).findIndex(
        ({ policies }) => 'extAuthz' in ((policies ?? {}) as Tree),
      )
      if (index < 0) return undefined
      const path = ['routes', index, 'policies', 'extAuthz'] as const
      const known = /127\.0\.0\.1:\d{4,}/.exec(JSON.stringify(routesIn(tree)[index]?.['policies']))
      return withValue(tree, path, question(random, known?.[0] ?? NOBODY))
    },
  },
  /** Limits that are never reached. */
  counted: {
    share: 0.02,
    add: (random, tree) =>
      withPolicies(random, tree, 0.4, () => ({ localRateLimit: limit(random) })),
    change: (random, tree) =>
      withPolicies(random, tree, 0.3, (route) =>
        'localRateLimit' in ((route['policies'] ?? {}) as Tree)
          ? { localRateLimit: limit(random) }
          : undefined,
      ),
  },
  /** A backend with a model provider that has its own rules. */
  providers: {
    share: 0.03,
    add: (random, tree) => {
      const index = routesIn(tree).findIndex((route) => isServed(route))
      if (index < 0) return undefined
      const { host, ...rest } = firstBackend(routesIn(tree)[index] as Tree) as Tree
      const policies = random.chance(0.7) ? { policies: { authorization: rules(random) } } : {}
      const provider = {
        name: 'one',
        provider: { openAI: random.chance(0.5) ? {} : { model: 'm' } },
        hostOverride: host as string,
        ...policies,
      }
      const ai = { groups: [{ providers: [provider] }] }
      return withValue(tree, ['routes', index, 'backends', 0], { ...rest, ai })
    },
  },
  /** Two providers, in parallel or as failover, and rules about the provider. */
  failover: {
    // Rare, since a fifth of them is not known; TRUTH_FEATURES=failover draws nothing else.
    share: 0.008,
    add: (random, tree, place) => {
      const index = routesIn(tree).findIndex((route) => isServed(route))
      const spare = spareHost(tree, place)
      if (index < 0 || spare === undefined) return undefined
      const { host, ...rest } = firstBackend(routesIn(tree)[index] as Tree) as Tree
      const all = [provider(random, 'one', host as string), provider(random, 'two', spare)]
      const groups = random.chance(0.5)
        ? [{ providers: all }]
        : all.map((one) => ({ providers: [one] }))
      return withValue(tree, ['routes', index, 'backends', 0], { ...rest, ai: { groups } })
    },
  },
}

function provider(random: Random, name: string, host: string): Tree {
  const own = condition(random, { ...SCOPE, stage: 'backend' })
  const text = random.pick([
    own,
    own,
    "llm.provider == 'one'",
    `llm.provider != 'two' || ${own}`,
    "llm.requestModel == 'a'",
    `backend.provider == 'two' && ${own}`,
  ])
  const action = random.pick(['deny', 'allow', 'require'])
  const policies = { policies: { authorization: { rules: [{ [action]: text }] } } }
  return {
    name,
    provider: { openAI: random.chance(0.7) ? {} : { model: 'm' } },
    hostOverride: host,
    ...(random.chance(0.75) ? policies : {}),
  }
}

function question(random: Random, host: string): Tree {
  const one = (): Tree => ({
    host: random.chance(0.6) ? host : NOBODY,
    protocol: { http: {} },
    failureMode: random.pick(['Deny', 'Allow']),
  })
  if (random.chance(0.4)) return one()
  const conditional = Array.from(
    { length: 1 + random.int(2) },
    (): Tree => ({
      condition: condition(random, SCOPE),
      ...one(),
    }),
  )
  return { conditional: random.chance(0.3) ? [...conditional, one()] : conditional }
}

function limit(random: Random): Tree {
  const one = (): Tree => ({ requests: 100_000 * (1 + random.int(3)), unit: 'Seconds' })
  if (random.chance(0.5)) return one()
  return { conditional: [{ condition: condition(random, SCOPE), ...one() }] }
}

function rules(random: Random): Tree {
  const action = random.pick(['deny', 'allow', 'require'])
  return { rules: [{ [action]: condition(random, { ...SCOPE, stage: 'backend' }) }] }
}

function isServed(route: Tree): boolean {
  const first = firstBackend(route)
  return isTree(first) && !isNobody(first) && typeof first['host'] === 'string'
}
