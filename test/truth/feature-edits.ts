import { isTree, type Json, rulesOf, type Tree, withValue } from './document.ts'
import type { Scope } from './expressions.ts'
import type { Place } from './generate.ts'
import type { Random } from './random.ts'

/**
 * Features of a file besides routes, rules and tokens. Each is drawn independently, so that a file
 * with it and a file without it differ only in the feature.
 */
export interface Feature {
  /** The share of files that have it. */
  readonly share: number
  /** Undefined if it does not fit the file. */
  add(random: Random, tree: Tree, place: Place): Tree | undefined
  /** The same file with the feature changed or removed. */
  change?(random: Random, tree: Tree): Tree | undefined
}

export const SCOPE: Scope = {
  stage: 'traffic',
  hasJwt: false,
  hasApiKey: false,
  hasCertificates: false,
  hasServerName: false,
  hasSources: false,
}

export const frontend = (tree: Tree) => (tree['frontendPolicies'] ?? {}) as Tree
export const routesIn = (tree: Tree) => (tree['routes'] ?? []) as readonly Tree[]

export function withHttp(tree: Tree, settings: Tree): Tree {
  const http = { ...((frontend(tree)['http'] ?? {}) as Tree), ...settings }
  return { ...tree, frontendPolicies: { ...frontend(tree), http } }
}

/** Removes one HTTP setting of the frontend. */
export function withoutHttp(tree: Tree, key: string): Tree | undefined {
  const { http, ...others } = frontend(tree)
  if (!isTree(http) || http[key] === undefined) return undefined
  const { [key]: _, ...rest } = http
  const { frontendPolicies: __, ...bare } = tree
  const own = Object.keys(rest).length === 0 ? others : { ...others, http: rest }
  return Object.keys(own).length === 0 ? bare : { ...bare, frontendPolicies: own }
}

/** Adds policies to some routes. */
export function withPolicies(
  random: Random,
  tree: Tree,
  share: number,
  policies: (route: Tree) => Tree | undefined,
): Tree {
  const routes = routesIn(tree).map((route, index) => {
    const more = index === 0 || random.chance(share) ? policies(route) : undefined
    if (more === undefined) return route
    return { ...route, policies: { ...((route['policies'] ?? {}) as Tree), ...more } }
  })
  return { ...tree, routes }
}

/** Adds the same policies to the gateway of all routes or to some routes. */
export function onGatewayOrRoutes(
  random: Random,
  tree: Tree,
  more: (random: Random) => Tree,
): Tree {
  const [name] = Object.keys(tree['gateways'] as Tree).filter((one) => one !== 'stream')
  if (name !== undefined && random.chance(0.3)) {
    const gateway = (tree['gateways'] as Tree)[name] as Tree
    return withValue(tree, ['gateways', name], { ...gateway, ...more(random) })
  }
  return withPolicies(random, tree, 0.4, () => more(random))
}

/** Applies `edit` to each rule with the probability `share`. */
export function withRules(
  random: Random,
  tree: Tree,
  share: number,
  edit: (expression: string, isConnection: boolean) => string | undefined,
): Tree {
  let own = tree
  for (const { path, expression } of rulesOf(tree)) {
    if (!random.chance(share)) continue
    const edited = edit(expression, path.includes('networkAuthorization'))
    if (edited !== undefined) own = withValue(own, path, edited)
  }
  return own
}

/** Nothing listens here: it must never get a share. */
export const NOBODY = '127.0.0.1:9'
export const isNobody = (backend: Tree) => backend['host'] === NOBODY

export function firstBackend(route: Tree): Json | undefined {
  return ((route['backends'] ?? []) as readonly Json[])[0]
}

/** The address of a backend to which no route leads. */
export function spareHost(tree: Tree, { backends }: Place): string | undefined {
  const text = JSON.stringify(tree)
  const hosts = backends.map((port) => `127.0.0.1:${port}`)
  return hosts.find((host) => !text.includes(`"${host}"`))
}
