import * as z from 'zod'
import type { Backend } from '../../../model/backend.ts'
import type { Attached } from '../../../model/policy.ts'
import type { Match, PathMatch, RouteAction, RouteRule } from '../../../model/route.ts'
import { name } from '../../../policies/schema.ts'
import type { Placed } from '../../../reach/checks/draft.ts'
import type { Message } from '../../../reach/checks/place.ts'
import { readPolicies } from '../policies.ts'
import { complain, parseAt, type Reading } from '../reading.ts'
import type { SectionNode } from '../section-node.ts'
import { readBackendRefs } from './backends.ts'
import { AT_ROUTE, actionOf, EVERYTHING, matches, routeShape } from './route-parts.ts'

/* Routes of route groups: each becomes a rule of the route that delegates to the group. */

const { name: childName, policies, backends } = routeShape
const childHead = z.strictObject({ name: childName, matches: matches() })

export const routeGroupSchema = z.strictObject({
  name: name().describe('The name that routes use to delegate to this group.'),
  routes: z
    .array(z.strictObject({ ...childHead.shape, policies, backends }))
    .min(1)
    .max(1024)
    .describe(
      'Routes below the routes that delegate to this group. Hostnames and gateways are inherited from the delegating route.',
    ),
})

const groupHead = z.strictObject({ name: name(), routes: z.array(z.unknown()).min(1).max(1024) })

/** Whether the backends refer to a route group. */
export function isDelegating({ value }: SectionNode): boolean {
  if (!Array.isArray(value)) return false
  return value.some((one) => typeof one === 'object' && one !== null && 'routeGroup' in one)
}

/** The delegating route, as far as it is read. */
interface Delegating {
  readonly name: string
  readonly matches: readonly Match[]
  /** The `backends` of the route. */
  readonly backends: SectionNode
}

interface Delegated {
  readonly rules: readonly RouteRule[]
  readonly backends: readonly Placed<Backend>[]
}

export function readDelegated(reading: Reading, route: Delegating): Delegated {
  // The route depends on the groups, which are not part of its text.
  reading.dependsOnMore()
  const found = readGroup(reading, route, [], [])
  return { ...found, rules: [...found.rules, unmatched(route)] }
}

/** Requests that match no route of the group are still delegated: no other route serves them. */
function unmatched({ name, matches, backends }: Delegating): RouteRule {
  const { origin } = backends
  const notFound: Attached = {
    state: 'valid',
    kind: 'directResponse',
    section: 'traffic',
    level: 'route',
    policy: `route:${name}`,
    origin,
    value: { status: 404, headers: {} },
  }
  const action = { kind: 'forward', backends: [] } as const
  return { name: `${name}/unmatched`, origin, matches, policies: [notFound], action }
}

function readGroup(
  reading: Reading,
  route: Delegating,
  inherited: readonly SectionNode[],
  path: readonly string[],
): Delegated {
  const at = route.backends
  const wrong = (message: Message, node = at): Delegated => {
    const said = complain(reading, node, message)
    return { rules: [invalidRule(route, { kind: 'invalid', diagnostics: [said] })], backends: [] }
  }
  const parsed = parseAt(reading, delegation, at)
  const [{ routeGroup } = { routeGroup: '' }] = parsed.value ?? []
  if (parsed.value === undefined) {
    const action = { kind: 'invalid', diagnostics: parsed.diagnostics } as const
    return { rules: [invalidRule(route, action)], backends: [] }
  }
  const named = at.inner(0, 'routeGroup')
  reading.delegatedTo.add(routeGroup)
  const group = groupCalled(reading, routeGroup)
  if (group === undefined) return wrong(unknown(reading, routeGroup), named)
  if (path.includes(routeGroup)) {
    const around = [...path.slice(path.indexOf(routeGroup)), routeGroup].join(' → ')
    const message = `route group \`${routeGroup}\` delegates to itself`
    return wrong({ code: 'PC0320', message, hint: around }, named)
  }
  if (route.matches.some(({ path: own }) => own.kind !== 'prefix')) {
    const message = 'a route that delegates must match by `pathPrefix`'
    const hint = 'set `path: { pathPrefix: … }` in each entry of its `matches`'
    return wrong({ code: 'PC0321', message, hint }, named)
  }
  const routes = group.inner('routes')
  const children = (Array.isArray(routes.value) ? routes.value : []).map((_, index) =>
    readChild(reading, route, routes.inner(index), inherited, [...path, routeGroup], index),
  )
  return {
    rules: children.flatMap(({ rules }) => rules),
    backends: children.flatMap((child) => child.backends),
  }
}

const delegation = z.array(z.strictObject({ routeGroup: name() })).max(1)

function readChild(
  reading: Reading,
  route: Delegating,
  node: SectionNode,
  inherited: readonly SectionNode[],
  path: readonly string[],
  index: number,
): Delegated {
  const head = parseAt(reading, childHead, node, { except: ['policies', 'backends'] })
  const name = `${route.name}/${head.value?.name ?? `route-${index}`}`
  const all = (head.value?.matches ?? [EVERYTHING]).flatMap((own) =>
    route.matches.flatMap((outer) => bothOf(outer, own) ?? []),
  )
  const matches = head.value === undefined ? route.matches : all
  const diagnostics = [...head.diagnostics]
  if (matches.length === 0) {
    const prefixes = route.matches.map(({ path: { value } }) => `\`${value}\``).join(', ')
    const message = `this route is unreachable: its path is not below ${prefixes}`
    const hint = 'regular expressions match whole paths and can only be used below `/`'
    diagnostics.push(complain(reading, node, { code: 'PC0321', message, hint }))
  }
  const own = { name, matches: matches.length === 0 ? route.matches : matches }
  const around = [node.inner('policies'), ...inherited]
  const refs = node.inner('backends')
  if (diagnostics.length === 0 && isDelegating(refs)) {
    return readGroup(reading, { ...own, backends: refs }, around, path)
  }
  const read = readBackendRefs(reading, refs, name)
  const action = actionOf(reading, read.refs, [...diagnostics, ...read.diagnostics])
  // The policies of all levels are merged, so that rules see the claims verified at outer levels.
  const policies = around.flatMap((at) =>
    readPolicies(reading, at, {
      sections: AT_ROUTE,
      level: 'route',
      policy: `route:${name}`,
    }),
  )
  const rule = { ...own, origin: node.origin, policies, action }
  return { rules: [rule], backends: read.backends }
}

function invalidRule({ name, matches, backends }: Delegating, action: RouteAction): RouteRule {
  return { name, origin: backends.origin, matches, policies: [], action }
}

/** The intersection of both matches; undefined if it is empty. */
function bothOf(outer: Match, inner: Match): Match | undefined {
  const path = bothPaths(outer.path, inner.path)
  if (path === undefined) return undefined
  const { method = inner.method } = outer
  if (inner.method !== undefined && inner.method !== method) return undefined
  const headers = [...outer.headers, ...inner.headers]
  const query = [...outer.query, ...inner.query]
  return { path, headers, query, ...(method === undefined ? {} : { method }) }
}

/** `outer` is a prefix. */
function bothPaths(outer: PathMatch, inner: PathMatch): PathMatch | undefined {
  if (inner.kind === 'regex') return outer.value === '/' ? inner : undefined
  if (isWithin(inner.value, outer.value)) return inner
  return inner.kind === 'prefix' && isWithin(outer.value, inner.value) ? outer : undefined
}

function isWithin(inner: string, outer: string): boolean {
  return inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`)
}

function groupsOf({ root }: Reading): readonly SectionNode[] {
  const list = root.inner('routeGroups')
  return Array.isArray(list.value) ? list.value.map((_, index) => list.inner(index)) : []
}

function groupCalled(reading: Reading, called: string): SectionNode | undefined {
  return groupsOf(reading).find((group) => group.inner('name').value === called)
}

function unknown(reading: Reading, called: string): Message {
  const names = groupsOf(reading).map((group) => String(group.inner('name').value))
  const hint = names.length === 0 ? 'define it in `routeGroups`' : `available: ${names.join(', ')}`
  return { code: 'PC0320', message: `unknown route group \`${called}\``, hint }
}

/** Checks the groups themselves; their routes are read with the routes that delegate to them. */
export function checkRouteGroups(reading: Reading): void {
  const list = reading.root.inner('routeGroups')
  if (list.value === undefined) return
  parseAt(reading, z.array(z.unknown()).max(1024), list)
  const seen = new Set<string>()
  for (const group of groupsOf(reading)) {
    const head = parseAt(reading, groupHead, group)
    const called = head.value?.name
    if (called === undefined) continue
    if (seen.has(called)) {
      const message = `another route group is already named \`${called}\``
      complain(reading, group.inner('name'), { code: 'PC0303', message })
    } else if (!reading.delegatedTo.has(called)) {
      const message = `no route delegates to route group \`${called}\``
      const hint = `set \`backends: [{ routeGroup: ${called} }]\` on a route`
      complain(reading, group.inner('name'), { code: 'PC0322', severity: 'warning', message, hint })
    }
    seen.add(called)
  }
}
