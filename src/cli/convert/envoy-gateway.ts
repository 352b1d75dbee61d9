import { stringify } from 'yaml'
import { loadText } from '../../sources/file/load.ts'
import { addressIn, anyOf, bothOf, DENIES, DENY_ALL, type Lost } from './conversion.ts'

/** An object of the API group gateway.envoyproxy.io. */
export interface EnvoyObject {
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly creationTimestamp?: string
  }
  readonly spec?: EnvoySpec
}

interface EnvoySpec {
  readonly targetRef?: EnvoyTarget
  readonly targetRefs?: readonly EnvoyTarget[]
  readonly [key: string]: unknown
}

interface EnvoyTarget {
  readonly kind: string
  readonly name: string
  readonly group?: string
  readonly sectionName?: string
}

type Route = Record<string, unknown>

interface Document {
  readonly gateways: Record<string, unknown>
  readonly routes: Route[]
}

export function envoyObjects(all: readonly unknown[]): readonly EnvoyObject[] {
  return all.filter((one): one is EnvoyObject => {
    const version = (one as { apiVersion?: unknown } | null)?.apiVersion
    return typeof version === 'string' && version.startsWith('gateway.envoyproxy.io/')
  })
}

/**
 * Kinds that do not restrict clients: without them, requests are served differently, but to the
 * same clients.
 */
const UNGUARDED = new Set(['BackendTrafficPolicy', 'EnvoyProxy', 'Backend', 'HTTPRouteFilter'])

/** The same for keys of a ClientTrafficPolicy. */
const UNGUARDED_KEYS = new Set(
  'targetRef targetRefs timeout tcpKeepalive connection http1 http2 http3 healthCheck'.split(' '),
)

function mayGuard({ kind, spec = {} }: EnvoyObject): boolean {
  if (kind !== 'ClientTrafficPolicy') return !UNGUARDED.has(kind)
  return Object.keys(spec).some((key) => !UNGUARDED_KEYS.has(key))
}

/**
 * SecurityPolicy guards routes: unsupported parts of it deny, as do objects of other kinds that may
 * guard. A policy of a route replaces that of its Gateway; of two for the same target, the oldest
 * applies.
 */
export function applySecurityPolicies(
  { routes }: Document,
  objects: readonly EnvoyObject[],
  lost: Lost[],
): void {
  const own = new Set<Route>()
  const ordered = objects.toSorted(byAge)
  for (const level of ['HTTPRoute', 'Gateway'] as const) {
    const taken = new Set<Route>()
    for (const object of ordered.filter(({ kind }) => kind === 'SecurityPolicy')) {
      const what = nameOf(object)
      const { targetRef, targetRefs, targetSelectors, ...rest } = object.spec ?? {}
      const refs = targetRefs ?? (targetRef === undefined ? [] : [targetRef])
      const targets = refs
        .filter(({ kind }) => kind === level)
        .flatMap((target) => routesOf(routes, object, target))
      const free = targets.filter((route) => !taken.has(route) && !own.has(route))
      if (free.length < targets.filter((route) => !own.has(route)).length) {
        lost.push({ line: undefined, what, why: 'an older policy has the same target' })
      }
      if (free.length === 0) continue
      const { sectionName } = refs.find((one) => one.kind === level) ?? {}
      const policies = policiesOf(rest, what, lost)
      if (sectionName !== undefined) {
        const why = `it now applies to the entire ${level}, not only to \`${sectionName}\``
        lost.push({ line: undefined, what: `${what} sectionName`, why })
      }
      for (const route of free) {
        taken.add(route)
        route['policies'] = { ...(route['policies'] as object), ...policies }
      }
    }
    for (const route of taken) own.add(route)
  }
  for (const object of ordered) listObject(routes, object, lost)
}

/** Reports an object that is not converted, or only partly. */
function listObject(routes: readonly Route[], object: EnvoyObject, lost: Lost[]): void {
  const { kind, spec = {} } = object
  const what = nameOf(object)
  const { targetRef, targetRefs, targetSelectors } = spec
  const refs = targetRefs ?? (targetRef === undefined ? [] : [targetRef])
  const targets = refs.flatMap((target) => routesOf(routes, object, target))
  if (kind === 'SecurityPolicy') {
    const strange = refs.filter((one) => one.kind !== 'HTTPRoute' && one.kind !== 'Gateway')
    if (targetSelectors !== undefined || strange.length > 0) {
      // The manifests do not determine which routes these are.
      deny(routes)
      lost.push({ line: undefined, what: `${what} target`, why: DENIES })
    } else if (targets.length === 0) {
      lost.push({ line: undefined, what, why: 'none of its targets is in the manifests' })
    }
    return
  }
  if (!mayGuard(object)) {
    lost.push({ line: undefined, what, why: 'it is not converted' })
    return
  }
  deny(refs.length === 0 ? routes : targets)
  lost.push({ line: undefined, what, why: DENIES })
}

function deny(routes: readonly Route[]): void {
  for (const route of routes) {
    route['policies'] = { ...(route['policies'] as object), authorization: DENY_ALL }
  }
}

function nameOf({ kind, metadata: { name } }: EnvoyObject): string {
  return `${kind} ${name}`
}

function byAge(one: EnvoyObject, other: EnvoyObject): number {
  const keyOf = ({
    metadata: { creationTimestamp = '', namespace = 'default', name },
  }: EnvoyObject) => `${creationTimestamp} ${namespace}/${name}`
  return keyOf(one) < keyOf(other) ? -1 : 1
}

function routesOf(
  routes: readonly Route[],
  { metadata }: EnvoyObject,
  { kind, name }: EnvoyTarget,
): readonly Route[] {
  const wanted = `${metadata.namespace ?? 'default'}-${name}`.toLowerCase()
  return routes.filter((route) => {
    if (kind === 'Gateway') {
      const gateways = (route['gateways'] ?? []) as readonly string[]
      return gateways.some((one) => new RegExp(`^${wanted}-\\d+(?:/|$)`).test(one))
    }
    const own = String(route['name'])
    return kind === 'HTTPRoute' && (own === wanted || new RegExp(`^${wanted}-\\d+$`).test(own))
  })
}

function policiesOf(spec: EnvoySpec, what: string, lost: Lost[]): Record<string, unknown> {
  const policies: Record<string, unknown> = {}
  let isDenied = false
  for (const [name, value] of Object.entries(spec)) {
    const written = READERS[name]?.(value as never)
    if (written !== undefined && isAccepted(written)) {
      Object.assign(policies, written)
      continue
    }
    // Only browsers enforce CORS.
    const isGuard = name !== 'cors'
    isDenied ||= isGuard
    const why = isGuard ? DENIES : 'it is not converted: browsers get no CORS headers'
    lost.push({ line: undefined, what: `${what} ${name}`, why })
  }
  return isDenied ? { ...policies, authorization: DENY_ALL } : policies
}

/** Whether a file accepts these policies. */
function isAccepted(policies: Readonly<Record<string, unknown>>): boolean {
  const document = { gateways: { default: { port: 1 } }, routes: [{ name: 'a', policies }] }
  const { diagnostics } = loadText(stringify(document), 'convert.yaml', { environment: {} }).result
  return !diagnostics.some(({ severity, origin }) => {
    return severity === 'error' && origin.kind === 'file'
  })
}

type Reader = (value: never) => Record<string, unknown> | undefined

const READERS: Readonly<Record<string, Reader>> = {
  authorization: ({ defaultAction, rules = [], ...rest }: EnvoyAuthorization) => {
    if (Object.keys(rest).length > 0) return undefined
    // The first matching rule decides.
    let rule = defaultAction === 'Allow' ? 'true' : 'false'
    for (const { action, principal, name: _, ...others } of rules.toReversed()) {
      const { clientCIDRs, ...unknown } = principal ?? {}
      if (Object.keys(others).length > 0 || Object.keys(unknown).length > 0) return undefined
      if (!Array.isArray(clientCIDRs) || clientCIDRs.length === 0) return undefined
      const networks = clientCIDRs.map((one) => addressIn(String(one)))
      if (networks.includes(undefined)) return undefined
      const condition = `(${networks.join(' || ')})`
      if (action === 'Allow') rule = anyOf(condition, rule)
      else if (action === 'Deny') rule = bothOf(`!${condition}`, rule)
      else return undefined
    }
    return { authorization: { rules: [{ require: rule }] } }
  },
  cors: (value: Record<string, unknown>) => {
    const known = ['allowOrigins', 'allowMethods', 'allowHeaders', 'exposeHeaders'].concat(
      'maxAge',
      'allowCredentials',
    )
    if (Object.keys(value).some((key) => !known.includes(key))) return undefined
    return { cors: value }
  },
  jwt: ({ providers = [], optional, ...others }: EnvoyJwt) => {
    if (providers.length === 0 || Object.keys(others).length > 0) return undefined
    const written = providers.map(({ name: _, issuer, audiences, remoteJWKS, ...rest }) => {
      const { uri, ...unknown } = remoteJWKS ?? {}
      if (Object.keys(rest).length > 0 || Object.keys(unknown).length > 0) return undefined
      if (typeof uri !== 'string' || typeof issuer !== 'string') return undefined
      return { issuer, jwks: { url: uri }, ...(audiences === undefined ? {} : { audiences }) }
    })
    if (written.includes(undefined)) return undefined
    const mode = optional === true ? { mode: 'Optional' } : {}
    return { jwtAuthentication: { ...mode, providers: written } }
  },
}

interface EnvoyAuthorization {
  readonly defaultAction?: string
  readonly rules?: readonly {
    readonly action?: string
    readonly name?: string
    readonly principal?: { readonly clientCIDRs?: readonly unknown[] }
  }[]
}

interface EnvoyJwt {
  readonly providers?: readonly {
    readonly name?: string
    readonly issuer?: string
    readonly audiences?: readonly string[]
    readonly remoteJWKS?: { readonly uri?: string }
  }[]
  readonly optional?: boolean
}
