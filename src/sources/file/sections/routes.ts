import * as z from 'zod'
import { type Result, success } from '../../../diagnostics/result.ts'
import type { Backend } from '../../../model/backend.ts'
import type { Attached, Section } from '../../../model/policy.ts'
import type { Parent, Route, RouteAction } from '../../../model/route.ts'
import type { TcpRoute } from '../../../model/tcp-route.ts'
import { name } from '../../../policies/schema.ts'
import type { Placed, PlacedBackend, PlacedRoute } from '../../../reach/checks/draft.ts'
import { withOwned } from '../known-items.ts'
import { policiesSchema, readPolicies } from '../policies.ts'
import { parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'
import { backendRefSchema, readBackendRefs } from './backends.ts'
import { type RouteHead, readQuickHead } from './quick-head.ts'
import { isDelegating, readDelegated } from './route-groups.ts'
import { AT_ROUTE, actionOf, EVERYTHING, httpHead, identity, routeShape } from './route-parts.ts'

const AT_TCP_ROUTE: readonly Section[] = ['backend']

const names = () => z.union([name(), z.array(name()).min(1).max(64)])

const attachment = {
  gateways: names()
    .optional()
    .describe(
      'The gateways, or listeners as `gateway/listener`, that the route belongs to. Default: `default`.',
    ),
}

export const routeSchema = z.strictObject({ ...routeShape, ...attachment })

export const tcpRouteShape = {
  ...identity,
  policies: policiesSchema(['backend'], 'route').optional().describe('Policies for this route.'),
  backends: z
    .array(backendRefSchema)
    .max(64)
    .optional()
    .describe('Where to send connections. Several backends share them by weight.'),
}

export const tcpRouteSchema = z.strictObject({ ...tcpRouteShape, ...attachment })

/** A route, and the backends that it defines in place. */
export interface ReadRoute<T> extends PlacedRoute<T> {
  readonly backends: readonly PlacedBackend[]
}

export const attachedHead = z.strictObject({ ...httpHead, ...attachment })
const insideHead = z.strictObject(httpHead)
const tcpAttachedHead = z.strictObject({ ...identity, ...attachment })
const tcpInsideHead = z.strictObject(identity)

/** `parents` is given if the route is defined inside its listener. */
export function readRoute(
  reading: Reading,
  node: SectionNode,
  fallback: string,
  parents?: readonly Parent[],
): ReadRoute<Route> {
  const isInside = parents !== undefined
  const head = readHead(reading, node, isInside)
  const schema = (isInside ? insideHead : attachedHead) as typeof attachedHead
  const value = head.value ?? extentOf(node, schema)
  const name = nameOf(head.value ?? writtenNames(node), fallback)
  const origin = node.origin
  const policies = readPolicies(reading, node.inner('policies'), {
    sections: AT_ROUTE,
    level: 'route',
    policy: `route:${name}`,
  })
  const at = node.inner('backends')
  const matches = value?.matches ?? [EVERYTHING]
  const route = {
    name,
    origin,
    parents: parents ?? parentsOf(reading, value?.gateways),
    hostnames: namesOf(value?.hostnames),
    policies,
  }
  if (isDelegating(at) && !head.diagnostics.some(({ severity }) => severity === 'error')) {
    const { rules, backends } = readDelegated(reading, { name, matches, backends: at })
    return placedRoute(node, { ...route, rules }, backends)
  }
  const { refs, backends, diagnostics } = readBackendRefs(reading, at, name)
  const rule = {
    name: head.value?.ruleName ?? name,
    origin,
    matches,
    policies: NO_POLICIES,
    action:
      value === undefined
        ? UNBOUNDED
        : actionOf(reading, refs, [...head.diagnostics, ...diagnostics]),
  }
  return placedRoute(node, { ...route, rules: [rule] }, backends)
}

function readHead(reading: Reading, node: SectionNode, isInside: boolean): Result<RouteHead> {
  const quick = readQuickHead(node.value)
  if (quick !== undefined && !(isInside && quick.gateways !== undefined)) return success(quick)
  const schema = isInside ? insideHead : attachedHead
  return parseAt(reading, schema as typeof attachedHead, node, { except: ['policies', 'backends'] })
}

export function readTcpRoute(
  reading: Reading,
  node: SectionNode,
  fallback: string,
  parents?: readonly Parent[],
): ReadRoute<TcpRoute> {
  const schema = parents === undefined ? tcpAttachedHead : tcpInsideHead
  const head = parseAt(reading, schema, node, { except: ['policies', 'backends'] })
  const known = head.value as z.output<typeof tcpAttachedHead> | undefined
  const value = known ?? extentOf(node, schema as typeof tcpAttachedHead)
  const name = nameOf(known ?? writtenNames(node), fallback)
  const { refs, backends, diagnostics } = readBackendRefs(reading, node.inner('backends'), name)
  const policies = readPolicies(reading, node.inner('policies'), {
    sections: AT_TCP_ROUTE,
    level: 'route',
    policy: `tcpRoute:${name}`,
  })
  const thing = {
    name,
    origin: node.origin,
    parents: parents ?? parentsOf(reading, value?.gateways),
    hostnames: namesOf(value?.hostnames),
    policies,
    action:
      value === undefined
        ? UNBOUNDED
        : actionOf(reading, refs, [...head.diagnostics, ...diagnostics]),
  }
  return placedRoute(node, thing, backends)
}

function placedRoute<T>(
  node: SectionNode,
  thing: T,
  backends: readonly Placed<Backend>[],
): ReadRoute<T> {
  const { place } = node
  const rule = node.inner('ruleName').value
  const route = typeof rule === 'string' ? { thing, place, ruleName: rule } : { thing, place }
  return backends.length === 0 ? { ...route, backends: [] } : withOwned(route, backends)
}

const NO_POLICIES: readonly Attached[] = []

/** For a route that may match anything: its error is not confined to the route. */
const UNBOUNDED: RouteAction = { kind: 'invalid', diagnostics: [] }

/**
 * The match fields of a route with errors; undefined unless only its names are wrong, since an
 * unknown key may have been meant as a match.
 */
function extentOf<S extends z.ZodType>(node: SectionNode, schema: S) {
  const written = node.value
  if (typeof written !== 'object' || written === null) return undefined
  const extent = Object.entries(written).filter(([key]) => !BESIDE_EXTENT.has(key))
  return schema.safeParse(Object.fromEntries(extent)).data
}

const BESIDE_EXTENT: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'ruleName',
  'policies',
  'backends',
])

/** The names of a route with other errors, so that policies can target it without an error. */
function writtenNames(node: SectionNode) {
  const named = (key: string) => aName.safeParse(node.inner(key).value).data
  return { name: named('name'), namespace: named('namespace'), ruleName: named('ruleName') }
}

const aName = name()

function nameOf(
  value: { readonly [key in 'name' | 'namespace' | 'ruleName']?: string | undefined } | undefined,
  fallback: string,
): string {
  const { name = fallback, namespace, ruleName } = value ?? {}
  const inside = namespace === undefined ? name : `${namespace}/${name}`
  return ruleName === undefined ? inside : `${inside}/${ruleName}`
}

/** `*` matches every name, as does an empty list. */
function namesOf(hostnames: readonly string[] = []): readonly string[] {
  return hostnames.includes('*') ? [] : hostnames
}

/** Listeners are distinguished from gateways when all gateways are known. */
function parentsOf(
  { repeated }: Reading,
  gateways: string | readonly string[] = 'default',
): readonly Parent[] {
  const list = typeof gateways === 'string' ? [gateways] : gateways
  const [first, ...others] = list
  if (first === undefined || others.length > 0) return list.map((gateway) => ({ gateway }))
  const known = repeated.parents.get(first) ?? [{ gateway: first }]
  repeated.parents.set(first, known)
  return known
}
