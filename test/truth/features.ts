import { isTree, type Json, type Tree, withValue } from './document.ts'
import { condition } from './expressions.ts'
import {
  type Feature,
  firstBackend,
  frontend,
  isNobody,
  NOBODY,
  onGatewayOrRoutes,
  routesIn,
  SCOPE,
  spareHost,
  withHttp,
  withoutHttp,
  withPolicies,
  withRules,
} from './feature-edits.ts'
import type { Place } from './generate.ts'
import type { Random } from './random.ts'
import { SERVICES } from './services.ts'

/** `TRUTH_FEATURES=cors,hops`: only these features, in every file. */
export function withFeatures(random: Random, tree: Tree, place: Place): Tree {
  const forced = process.env['TRUTH_FEATURES']?.split(',')
  let own = tree
  for (const [name, feature] of Object.entries(FEATURES)) {
    const isDrawn = random.chance(feature.share)
    const isWanted = forced === undefined ? isDrawn : forced.includes(name)
    if (isWanted) own = feature.add(random, own, place) ?? own
  }
  return own
}

/** Simulates an edit of the file: occasionally it changes a feature. */
export function changedFeature(random: Random, tree: Tree): Tree {
  const [feature] = random.some(
    Object.values(FEATURES).filter((one) => one.change !== undefined),
    1,
  )
  return random.chance(0.1) ? (feature?.change?.(random, tree) ?? tree) : tree
}

/** Printed by htpasswd -s: bob with the password s3cret. */
const USERS: readonly Json[] = [
  'bob:{SHA}/vNB+F2HQ559kaLUZbmHHvZrXpg=',
  'alice:{SHA}/vNB+F2HQ559kaLUZbmHHvZrXpg=',
]

export const FEATURES: Readonly<Record<string, Feature>> = {
  /** Rules compare paths as clients sent them. */
  slashes: {
    share: 0.03,
    add: (random, tree) =>
      withRules(random, withHttp(tree, { mergeSlashes: false }), 0.3, (text) =>
        text.replace(/'(\/[^/'][^']*)'/, (_, path: string) =>
          random.pick([`'/${path}'`, `'${path}//'`, `'${path.replace(/(?<=.)\//, '//')}'`]),
        ),
      ),
    change: (_, tree) => withoutHttp(tree, 'mergeSlashes'),
  },
  /** Proxies in front of the gateway report the client address. */
  hops: {
    share: 0.02,
    add: (random, tree) => {
      const own = withHttp(tree, { trustedHops: 1 + random.int(2) })
      const scope = { ...SCOPE, hasSources: true }
      return withRules(random, own, 0.5, (text, isConnection) => {
        const more = condition(random, isConnection ? { ...scope, stage: 'connection' } : scope)
        return random.chance(0.4) ? more : `${text} ${random.pick(['&&', '||'])} ${more}`
      })
    },
    change: (random, tree) =>
      random.chance(0.5)
        ? withoutHttp(tree, 'trustedHops')
        : isTree(frontend(tree)['http'])
          ? withHttp(tree, { trustedHops: 1 + random.int(2) })
          : undefined,
  },
  /** Routes for which the gateway itself responds, always or sometimes. */
  ownResponses: {
    share: 0.02,
    add: (random, tree) =>
      withPolicies(random, tree, 0.3, (route) => {
        const body = `direct ${route['name']}`
        switch (random.int(4)) {
          case 0:
            return { requestRedirect: { scheme: 'https', status: random.pick([302, 307]) } }
          case 1:
            return { directResponse: { status: random.pick([200, 202]), body } }
          default: {
            const conditional = Array.from({ length: 1 + random.int(2) }, () => ({
              condition: condition(random, SCOPE),
              status: random.pick([202, 202, 503]),
              body,
            }))
            const rest = random.chance(0.2) ? [{ status: random.pick([200, 403]), body }] : []
            return { directResponse: { conditional: [...conditional, ...rest] } }
          }
        }
      }),
  },
  cors: {
    share: 0.03,
    add: (random, tree) =>
      onGatewayOrRoutes(random, tree, (own) => ({
        cors: { allowOrigins: [own.pick(['https://a.test', '*'])], allowMethods: ['PUT'] },
      })),
  },
  csrf: {
    share: 0.03,
    add: (random, tree) =>
      withPolicies(random, tree, 0.4, () => ({
        csrf: random.chance(0.5) ? {} : { additionalOrigins: ['https://b.test'] },
      })),
  },
  /** Passwords, and rules about their users. */
  basic: {
    share: 0.03,
    add: (random, tree) => {
      const own = onGatewayOrRoutes(random, tree, (one) => ({
        basicAuth: { ...(one.chance(0.5) ? { mode: 'Optional' } : {}), users: USERS },
      }))
      return withRules(random, own, 0.4, (text, isConnection) => {
        if (isConnection) return undefined
        const user = random.pick([
          "basicAuth.username == 'bob'",
          "basicAuth.username != 'alice'",
          'has(basicAuth.username)',
          "basicAuth.username.startsWith('a')",
        ])
        return random.chance(0.5) ? user : `${text} ${random.pick(['&&', '||'])} ${user}`
      })
    },
  },
  /** Rules about the request body; no analysis covers them. */
  body: {
    share: 0.004,
    add: (random, tree) => {
      const limited = random.chance(0.3) ? withHttp(tree, { maxBufferSize: 32 }) : tree
      if (random.chance(0.3)) return withPolicies(random, limited, 0.3, () => keeping(random))
      return withRules(random, limited, 0.35, (text, isConnection) => {
        if (isConnection) return undefined
        const read = random.pick([
          "string(request.body).contains('x')",
          "json(request.body).model == 'a'",
          "'model' in json(request.body)",
          'has(request.body)',
          '!has(request.body)',
          "request.body == b'x'",
          'size(request.body) < 2',
        ])
        if (random.chance(0.3)) return read
        const [first, second] = random.chance(0.5) ? [text, read] : [read, text]
        return `${first} ${random.pick(['&&', '||'])} ${second}`
      })
    },
    change: (random, tree) =>
      JSON.stringify(tree).includes('maxBufferSize')
        ? withPolicies(random, tree, 0.3, () => keeping(random))
        : undefined,
  },
  /** A second backend without a share; its rules have no effect. */
  weights: {
    share: 0.03,
    add: (random, tree) => {
      const routes = routesIn(tree).map((route) => {
        const [first] = (route['backends'] ?? []) as readonly Tree[]
        if (first === undefined || !random.chance(0.6)) return route
        const rules = [{ deny: condition(random, SCOPE) }]
        const idle = { host: NOBODY, weight: 0, policies: { authorization: { rules } } }
        const busy = { ...first, weight: 1 + random.int(3) }
        return { ...route, backends: random.chance(0.5) ? [idle, busy] : [busy, idle] }
      })
      return { ...tree, routes }
    },
  },
  /** Routes without a backend: requests that the rules admit get a 500. */
  unserved: {
    share: 0.02,
    add: (random, tree) => {
      const routes = routesIn(tree).map((route, index): Tree => {
        const { backends, ...rest } = route
        if (backends === undefined || (index > 0 && random.chance(0.5))) return route
        if (random.chance(0.5)) return rest
        return {
          ...rest,
          backends: (backends as readonly Tree[]).map((one) => ({ ...one, weight: 0 })),
        }
      })
      return { ...tree, routes }
    },
    change: (_, tree) => {
      const index = routesIn(tree).findIndex((route) => isTree(firstBackend(route)))
      const first = routesIn(tree)[index] && firstBackend(routesIn(tree)[index] as Tree)
      if (!isTree(first) || isNobody(first)) return undefined
      const weight = first['weight'] === 0 ? 1 : 0
      return withValue(tree, ['routes', index, 'backends', 0], { ...first, weight })
    },
  },
  /** One route with two backends chosen by chance, each with its own rules. */
  shares: {
    share: 0.03,
    add: (random, tree, place) => {
      const index = routesIn(tree).findIndex((route) => {
        const first = firstBackend(route)
        return isTree(first) && !isNobody(first)
      })
      if (index < 0) return undefined
      const first = firstBackend(routesIn(tree)[index] as Tree) as Tree
      const host = spareHost(tree, place)
      if (host === undefined) return undefined
      const rules = [{ [random.pick(['deny', 'allow'])]: condition(random, SCOPE) }]
      const own = random.chance(0.7) ? { policies: { authorization: { rules } } } : {}
      const backends = [
        { ...first, weight: 1 + random.int(3) },
        { host, weight: 1 + random.int(3), ...own },
      ]
      return withValue(tree, ['routes', index, 'backends'], backends)
    },
    change: (random, tree) => {
      const index = routesIn(tree).findIndex(
        (route) => ((route['backends'] ?? []) as readonly Tree[]).length > 1,
      )
      if (index < 0) return undefined
      const all = routesIn(tree)[index]?.['backends'] as readonly Tree[]
      const weighed = all.map((one) => ({ ...one, weight: isNobody(one) ? 0 : random.int(3) }))
      const kept = random.chance(0.5) ? weighed : all.filter((one) => !isNobody(one)).slice(0, 1)
      return withValue(tree, ['routes', index, 'backends'], kept)
    },
  },
  /** Policies that change requests and responses, but decide nothing. */
  changes: {
    share: 0.04,
    add: (random, tree) => withPolicies(random, tree, 0.4, () => harmless(random)),
    change: (random, tree) => withPolicies(random, tree, 0.4, () => harmless(random)),
  },
  /** One of several credentials is enough. */
  anyOf: {
    share: 0.02,
    add: (random, tree) => {
      const jwks = { file: 'keys.json' }
      const both: readonly Tree[] = [
        { jwtAuthentication: { issuer: 'https://i.test', jwks } },
        { basicAuth: { users: USERS } },
      ]
      const anyOf = random.chance(0.7) ? both : both.slice(0, 1)
      const mode = random.pick(['Strict', 'Optional', 'Permissive'])
      const own = withPolicies(random, tree, 0.4, () => ({ authentication: { mode, anyOf } }))
      return withRules(random, own, 0.4, (text, isConnection) => {
        if (isConnection) return undefined
        const who = random.pick([
          "basicAuth.username == 'bob'",
          'has(basicAuth.username)',
          "jwt.sub == 'alice'",
          'has(jwt.sub)',
        ])
        return random.chance(0.5) ? who : `${text} ${random.pick(['&&', '||'])} ${who}`
      })
    },
    change: (random, tree) => {
      const index = routesIn(tree).findIndex((route) =>
        isTree((route['policies'] as Tree | undefined)?.['authentication']),
      )
      if (index < 0) return undefined
      const mode = random.pick(['Strict', 'Optional', 'Permissive'])
      return withValue(tree, ['routes', index, 'policies', 'authentication', 'mode'], mode)
    },
  },
  ...SERVICES,
}

/** A policy other than a rule that buffers the body, without naming it directly. */
function keeping(random: Random): Tree {
  const text = random.pick([
    'string(request.body)',
    'string(request        .body)',
    'request.with(r, string(r.body))',
    'cel.bind(r, request, string(r.body))',
  ])
  return random.chance(0.5)
    ? { transformations: { request: { set: { 'x-kept': text } } } }
    : { retry: { attempts: 2, condition: `${text} == 'x'` } }
}

function harmless(random: Random): Tree {
  switch (random.int(6)) {
    case 0:
      return { responseHeaders: { set: { 'x-more': random.pick(['1', '2']) }, remove: ['server'] } }
    case 1:
      return { requestHeaders: { set: { 'x-a': random.pick(['1', '2']) }, remove: ['x-b'] } }
    case 2:
      return { transformations: { request: { set: { 'x-a': "'1'" }, remove: ['x-b'] } } }
    case 3:
      return { transformations: { response: { set: { 'x-more': 'request.path' } } } }
    case 4:
      return { urlRewrite: { path: { full: '/a' } } }
    default:
      return { timeout: { request: '60s' }, retry: { attempts: 1 + random.int(3) } }
  }
}
