import { hashOf } from '../../model/hash.ts'
import type { Model } from '../../model/model.ts'
import { isPlace } from '../../model/places.ts'
import { policySchema } from '../../policies/schema.ts'
import { layersOf } from '../../reach/all-layers.ts'
import { COMPOSING, kindsThat } from '../../reach/kinds.ts'
import { Reach } from '../../reach/reach.ts'
import { ACCOUNTS, type Account } from './accounts.ts'
import { isSame } from './same-parts.ts'

/** A part of the Model that differs and that nothing accounts for. */
export interface UnaccountedPart {
  /** The path for looking it up: `gateways[default].listeners[https].tls.clients.mode`. */
  readonly part: string
  /** `gateway/listener` of each listener that it affects. */
  readonly listeners: readonly string[]
  readonly route: string
}

/**
 * Walks both Models and looks up what accounts for each part that differs. Returns the parts that
 * nothing accounts for.
 */
export function unaccountedParts(before: Model, after: Model): readonly UnaccountedPart[] {
  const found: UnaccountedPart[] = []
  const policies = [...policiesIn([before, after])]
  const context: Context = {
    ...{ before, after, found },
    deciding: decidingBackends(policies),
    kinds: new Set(policies.map(({ kind }) => kind)),
  }
  walk(context, before, after, { text: '', pattern: '', newPart: undefined, item: {} })
  return [...found, ...sharedPorts(before, after)]
}

interface Context {
  readonly before: Model
  readonly after: Model
  /** Backends that decide about requests, or that provide what others use to decide. */
  readonly deciding: ReadonlySet<string>
  /** The kinds of all policies in both Models. */
  readonly kinds: ReadonlySet<string>
  readonly found: UnaccountedPart[]
}

interface Position {
  readonly text: string
  /** The same without names. */
  readonly pattern: string
  /** The outermost enclosing part that only one of the two has. */
  readonly newPart: string | undefined
  readonly item: { readonly gateway?: string; readonly listener?: string; readonly route?: string }
}

function walk(context: Context, old: unknown, now: unknown, at: Position): void {
  if (isSame(old, now)) return
  const account = ACCOUNTS.get(at.pattern)
  const isAccounted = account !== undefined && accounts(context, account, old, now, at)
  const isKept = isAccounted && !isDecidingBackend(context, at)
  if (isKept && account.opens !== true) return
  const isOpen = isKept || (isPart(old) && isPart(now))
  if (!isOpen || !(isPart(old) || isPart(now))) {
    report(context, at)
    return
  }
  const isNew = old === undefined || now === undefined
  const inside = isNew ? { ...at, newPart: at.newPart ?? at.pattern } : at
  if (Array.isArray(old ?? now)) walkList(context, listOf(old), listOf(now), inside)
  else walkObject(context, objectOf(old), objectOf(now), inside)
}

function report(context: Context, { text, item }: Position): void {
  const { before, after, found } = context
  const listeners = [...new Set([before, after].flatMap((model) => reachedBy(model, item)))]
  // Parts that affect no listener are reported, too.
  const isAnywhere = listeners.length > 0
  found.push({ part: text, listeners: isAnywhere ? listeners : [''], route: item.route ?? '' })
}

/** The listeners of the gateway, or all; for a route, those that can receive its requests. */
function reachedBy(model: Model, item: Position['item']): readonly string[] {
  const own = model.routes.filter(({ name }) => name === item.route)
  const reach = new Reach(model)
  return [...reach.listeners()]
    .filter((where) => {
      if (item.gateway !== undefined && item.gateway !== where.gateway.name) return false
      if (item.listener !== undefined && item.listener !== where.listener.name) return false
      return item.route === undefined || own.some((one) => reach.isReached(where, one))
    })
    .map(({ gateway, listener }) => `${gateway.name}/${listener.name}`)
}

function accounts(
  { kinds }: Context,
  { when, under, without = [] }: Account,
  old: unknown,
  now: unknown,
  at: Position,
): boolean {
  if (without.some((kind) => kinds.has(kind))) return false
  if (under !== undefined && !(at.newPart !== undefined && under.includes(at.newPart))) return false
  return when === undefined || when(old, now)
}

type Fields = Readonly<Record<string, unknown>>

function walkObject(context: Context, old: Fields, now: Fields, at: Position): void {
  const isUsers = /\.(?:value|options)(?:[.[]|$)/.test(at.pattern)
  const isSkipped = (key: string) =>
    !isUsers && [old, now].every((one) => !(key in one) || isPlace(key, one[key]) === true)
  for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (isSkipped(key)) continue
    // The key of a list item is the same, or it would be another item.
    if (at.pattern.endsWith(']') && key === 'name') continue
    if (at.pattern.endsWith('backends[]') && key === 'backend') continue
    if (at.pattern.startsWith('policy(') && !at.pattern.includes('.') && PLACE.has(key)) continue
    const dot = at.text === '' ? '' : '.'
    const next = { ...at, text: `${at.text}${dot}${key}`, pattern: `${at.pattern}${dot}${key}` }
    walk(context, old[key], now[key], next)
  }
}

/** The fields that identify a policy, and those that follow from its place. */
const PLACE: ReadonlySet<string> = new Set(['kind', 'section', 'policy', 'level'])

function walkList(
  context: Context,
  old: readonly unknown[],
  now: readonly unknown[],
  at: Position,
): void {
  const [before, after] = [byName(old), byName(now)]
  if (isReordered(before, after) && !ACCOUNTS.has(`${at.pattern}.order`)) {
    report(context, { ...at, text: `the order of ${at.text}` })
  }
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [one, other] = [before.get(name), after.get(name)]
    const item = one ?? other
    const text = isPolicies(item) ? `${at.text}.${item.kind}` : `${at.text}[${name}]`
    const pattern = isPolicies(item) ? `policy(${item.kind})` : `${at.pattern}[]`
    const next = { ...at, text, pattern, item: itemAt(at, name, pattern) }
    if (isPolicies(item) && DEFAULTED.has(item.kind) && isOnly(context, item.kind)) {
      walk(context, one ?? defaultOf(item), other ?? defaultOf(item), next)
    } else walk(context, one, other, next)
  }
}

/** For policies, the order matters only within a kind of which only the first policy applies. */
function isReordered(
  before: ReadonlyMap<string, unknown>,
  after: ReadonlyMap<string, unknown>,
): boolean {
  const orders = (items: ReadonlyMap<string, unknown>) => {
    const names = new Map<string, string[]>()
    for (const [name, item] of items) {
      if (!before.has(name) || !after.has(name)) continue
      const kind = isPolicies(item) ? item.kind : ''
      if (!COMPOSING.has(kind)) names.set(kind, [...(names.get(kind) ?? []), name])
    }
    return names
  }
  const [old, now] = [orders(before), orders(after)]
  return [...old].some(([kind, names]) => names.join('\n') !== now.get(kind)?.join('\n'))
}

function itemAt({ item }: Position, name: string, pattern: string): Position['item'] {
  if (pattern === 'gateways[]') return { gateway: name }
  if (pattern === 'gateways[].listeners[]') return { ...item, listener: name }
  return pattern === 'routes[]' ? { route: name } : item
}

/** Without a policy of these kinds, the gateway applies their defaults. */
const DEFAULTED = kindsThat(({ hasDefaults }) => hasDefaults)

interface PolicyItem {
  readonly kind: string
  readonly section: string
  readonly policy: string
}

function isPolicies(item: unknown): item is PolicyItem {
  return isPart(item) && 'kind' in item && 'section' in item && 'policy' in item
}

function defaultOf(item: PolicyItem): unknown {
  return { ...item, state: 'valid', value: policySchema(item.kind).parse({}) }
}

/** Whether there is only one: otherwise one at an outer level would apply, not the defaults. */
function isOnly({ before, after }: Context, kind: string): boolean {
  return [before, after].every((model) => {
    let count = 0
    for (const { policies } of layersOf(model)) {
      for (const one of policies) if (one.kind === kind) count++
    }
    return count <= 1
  })
}

/** Items keyed by what distinguishes them, in order. Further ones of a name get a number. */
function byName(items: readonly unknown[]): ReadonlyMap<string, unknown> {
  const found = new Map<string, unknown>()
  for (const [index, item] of items.entries()) {
    const name = nameIn(item) ?? `${index}`
    let own = name
    for (let count = 2; found.has(own); count++) own = `${name} ${count}`
    found.set(own, item)
  }
  return found
}

function nameIn(item: unknown): string | undefined {
  if (!isPart(item)) return undefined
  if (isPolicies(item)) return `${item.section} ${item.kind} ${item.policy}`
  const { name, backend } = item as Fields
  if (typeof name === 'string') return name
  return typeof backend === 'string' ? backend : undefined
}

/** This includes its policies: a service that is no longer reachable decides differently. */
function isDecidingBackend({ deciding }: Context, { text }: Position): boolean {
  return [...deciding].some((name) => text.startsWith(`backends[${name}]`))
}

/**
 * Backends named in a policy that may decide: services that are called, or that provide keys. Only
 * if a kind is known to decide nothing, the backends that it names do not matter.
 */
function decidingBackends(policies: readonly PolicyItem[]): ReadonlySet<string> {
  const names = new Set<string>()
  const collect = (value: unknown): void => {
    if (!isPart(value)) return
    for (const [key, member] of Object.entries(value)) {
      if (key === 'backend' && typeof member === 'string') names.add(member)
      else collect(member)
    }
  }
  for (const policy of policies) {
    if (ACCOUNTS.get(`policy(${policy.kind})`)?.by !== 'nothing') collect(policy)
  }
  return names
}

function* policiesIn(value: unknown): Generator<PolicyItem> {
  if (!isPart(value)) return
  if (isPolicies(value)) yield value
  else for (const member of Object.values(value)) yield* policiesIn(member)
}

/** If several listeners share a port, the host of a request selects the listener. */
function sharedPorts(before: Model, after: Model): readonly UnaccountedPart[] {
  const [old, now] = [listenersByPort(before), listenersByPort(after)]
  const found: UnaccountedPart[] = []
  for (const port of new Set([...old.keys(), ...now.keys()])) {
    const [was, is] = [old.get(port) ?? [], now.get(port) ?? []]
    if (was.length < 2 && is.length < 2) continue
    if (hashOf(was) === hashOf(is)) continue
    if (isChosenByHost(was) && isChosenByHost(is) && was[0]?.[0] === is[0]?.[0]) continue
    const listeners = new Set([...was, ...is].map(([gateway, name]) => `${gateway}/${name}`))
    const part = `the listeners that share port ${port}`
    found.push({ part, listeners: [...listeners], route: '' })
  }
  return found
}

/** For plain HTTP, the host alone selects the listener, and routes are compared by host. */
function isChosenByHost(sharing: readonly Sharing[]): boolean {
  const [first] = sharing
  const hosts = sharing.map(([, , , host]) => host ?? '*')
  return (
    first !== undefined &&
    sharing.every(([gateway, , protocol]) => gateway === first[0] && protocol === 'HTTP') &&
    new Set(hosts).size === hosts.length
  )
}

type Sharing = readonly [gateway: string, name: string, protocol: string, host: unknown]

function listenersByPort(model: Model): ReadonlyMap<number, readonly Sharing[]> {
  const found = new Map<number, Sharing[]>()
  for (const { gateway, listener } of new Reach(model).listeners()) {
    const { name, protocol, port, hostname } = listener
    if (port === undefined) continue
    const own = found.get(port) ?? []
    own.push([gateway.name, name, protocol, hostname])
    found.set(port, own)
  }
  return found
}

function isPart(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function objectOf(value: unknown): Fields {
  return isPart(value) && !Array.isArray(value) ? (value as Fields) : {}
}
