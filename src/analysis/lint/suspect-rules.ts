import { type Backend, partsOf } from '../../model/backend.ts'
import { differenceOf } from '../../model/changed-range.ts'
import { servesRequests } from '../../model/gateway.ts'
import type { Model } from '../../model/model.ts'
import type { Attached, ValidPolicy } from '../../model/policy.ts'
import type { Route } from '../../model/route.ts'
import {
  type Authorization,
  type AuthorizationRule,
  POLICY_SCHEMAS,
} from '../../policies/schema.ts'
import { kindsThat } from '../../reach/kinds.ts'
import { backendsByName, Reach } from '../../reach/reach.ts'
import { AUTHENTICATIONS } from './checks/never.ts'

/** The part of a Model to search for rules that never match. */
export interface Suspects {
  /** Without the routes that none of these rules reaches. */
  readonly model: Model
  /** Rules that match somewhere, judging by their text. */
  readonly cleared: ReadonlySet<AuthorizationRule>
}

/** What the text of a rule shows without its syntax tree. */
interface Wording {
  readonly rule: AuthorizationRule
  /** Whether it has a literal that may be wrong wherever it is compared. */
  readonly isOdd: boolean
  readonly readsHostname: boolean
  /** Variables that only an authentication sets. */
  readonly variables: readonly string[]
}

const VARIABLES = Object.keys(AUTHENTICATIONS)
const LITERALS = /'[^']*'|"[^"]*"/g

const SETS: ReadonlyMap<string, readonly string[]> = new Map(
  POLICY_SCHEMAS.map(({ kind, identifies }) => [kind, identifies]),
)

/**
 * `before` is a Model that was already checked and that shares its unchanged parts with this one.
 * Returns undefined if no rule is suspect. This is the case for nearly all configurations, and is
 * found without the tree of an expression or the points that rules reach. A rule is cleared only if
 * it is certain that what it reads is set; everything else is left to the search.
 */
export function* suspectsOf(model: Model, before?: Model): Generator<void, Suspects | undefined> {
  const known = before && LOOKED.get(before)
  let looked: Looked
  if (before !== undefined && known !== undefined && isSameAround(before, model)) {
    // The next Model continues from these results. Checking `before` again starts from scratch.
    LOOKED.delete(before)
    looked = known
    const look = routeReader(model, looked.around.listeners)
    const { gone, come } = differenceOf(before.routes, model.routes)
    for (const route of gone) forget(looked, route)
    for (const route of come) {
      yield
      note(looked, route, look(route))
    }
  } else looked = yield* lookAtAll(model)
  LOOKED.set(model, looked)
  return suspectsIn(model, looked)
}

/** The results for checked Models, for the Models that follow. */
const LOOKED = new WeakMap<Model, Looked>()

/** The results for one Model. */
interface Looked {
  readonly around: Around
  /** Only routes with results. */
  readonly routes: Map<Route, Found>
  /** Rules of routes, with the number of places where each is. */
  readonly suspects: Map<AuthorizationRule, number>
  readonly cleared: Map<AuthorizationRule, number>
}

/** What applies to routes from the outside. */
interface Around {
  readonly listeners: readonly HttpListener[]
  readonly found: Found
  /** Whether a rule of a gateway or listener is suspect. */
  readonly isOfAll: boolean
}

interface HttpListener {
  readonly gateway: Model['gateways'][number]
  readonly listener: Model['gateways'][number]['listeners'][number]
  /** The variables that are set there. */
  readonly above: ReadonlySet<string>
}

interface Found {
  readonly suspects: Set<AuthorizationRule>
  readonly cleared: Set<AuthorizationRule>
}

function note(looked: Looked, route: Route, found: Found): void {
  if (found.suspects.size + found.cleared.size === 0) return
  looked.routes.set(route, found)
  for (const rule of found.suspects) count(looked.suspects, rule, 1)
  for (const rule of found.cleared) count(looked.cleared, rule, 1)
}

function forget(looked: Looked, route: Route): void {
  const found = looked.routes.get(route)
  if (found === undefined) return
  looked.routes.delete(route)
  for (const rule of found.suspects) count(looked.suspects, rule, -1)
  for (const rule of found.cleared) count(looked.cleared, rule, -1)
}

function count(counts: Map<AuthorizationRule, number>, rule: AuthorizationRule, by: 1 | -1): void {
  const sum = (counts.get(rule) ?? 0) + by
  if (sum === 0) counts.delete(rule)
  else counts.set(rule, sum)
}

/** Whether routes that both Models have mean the same in both. */
function isSameAround(before: Model, now: Model): boolean {
  if (before.frontend !== now.frontend || before.gateways !== now.gateways) return false
  if (before.backends === now.backends) return true
  const { gone, come } = differenceOf(before.backends, now.backends)
  return [...gone, ...come].every((backend) =>
    [backend, ...partsOf(backend)].every(({ policies }) => policies.length === 0),
  )
}

function* lookAtAll(model: Model): Generator<void, Looked> {
  const around = lookAround(model)
  const looked: Looked = { around, routes: new Map(), suspects: new Map(), cleared: new Map() }
  const look = routeReader(model, around.listeners)
  for (const route of model.routes) {
    yield
    note(looked, route, look(route))
  }
  return looked
}

/** Checks gateways and listeners, without their routes. */
function lookAround(model: Model): Around {
  const reach = new Reach(model)
  const found: Found = { suspects: new Set(), cleared: new Set() }
  const read = wordingReader()
  const listeners: HttpListener[] = []
  let isOfAll = false
  for (const { gateway, listener } of reach.listeners()) {
    const isHttp = servesRequests(listener)
    const above = new Set<string>()
    const clears = isHttp ? decidesAtListener : decidesConnections
    for (const policies of reach.listsAround({ gateway, listener })) {
      if (look(read, policies, above, clears, found)) isOfAll = true
      noteSet(policies, above)
    }
    if (isHttp) listeners.push({ gateway, listener, above })
  }
  return { listeners, found, isOfAll }
}

/** Returns a function that checks one route, wherever it is attached. */
function routeReader(model: Model, listeners: readonly HttpListener[]): (route: Route) => Found {
  const read = wordingReader()
  const reach = new Reach(model)
  const backends = backendsByName(model.backends)
  return (route) => {
    const found: Found = { suspects: new Set(), cleared: new Set() }
    for (const { gateway, listener, above } of listeners) {
      if (!reach.isReached({ gateway, listener }, route)) continue
      for (const policies of policiesIn(route, backends)) {
        look(read, policies, above, decidesRequests, found)
      }
    }
    return found
  }
}

/** Returns whether a rule about requests is suspect. */
function look(
  read: Read,
  policies: readonly Attached[],
  above: ReadonlySet<string>,
  clears: Clears,
  { suspects, cleared }: Found,
): boolean {
  let isFound = false
  for (const policy of policies) {
    for (const wording of read(policy)) {
      if (!mayBeSuspect(wording)) continue
      if (clears(policy) && isClear(wording, policy, policies, above)) cleared.add(wording.rule)
      else {
        suspects.add(wording.rule)
        isFound ||= policy.section !== 'frontend'
      }
    }
  }
  return isFound
}

function suspectsIn(model: Model, { around, routes, suspects, cleared }: Looked) {
  const { found, isOfAll } = around
  const isCleared = (rule: AuthorizationRule) => found.cleared.has(rule) || cleared.has(rule)
  const left = new Set<AuthorizationRule>()
  for (const rule of found.suspects) if (!isCleared(rule)) left.add(rule)
  for (const rule of suspects.keys()) if (!isCleared(rule)) left.add(rule)
  if (left.size === 0) return undefined
  const all = new Set([...found.cleared, ...cleared.keys()])
  // A rule of a gateway is reported with all routes that it reaches.
  if (isOfAll) return { model, cleared: all }
  const isSuspect = (route: Route) =>
    [...(routes.get(route)?.suspects ?? [])].some((rule) => left.has(rule))
  return { model: { ...model, routes: model.routes.filter(isSuspect) }, cleared: all }
}

/** Whether the text of the rule has something that may never be true, given the unset variables. */
export function isSuspect(rule: AuthorizationRule, isUnset: (variable: string) => boolean) {
  const { isOdd, readsHostname, variables } = wordingOf(rule)
  return isOdd || readsHostname || variables.some(isUnset)
}

type Clears = (policy: Attached) => boolean

/** Whether the policy decides at some point wherever it is attached; if not, nothing is certain. */
const decidesRequests: Clears = ({ kind, section }) =>
  kind === 'authorization' && section === 'traffic'
const decidesConnections: Clears = ({ section }) => section === 'frontend'
const decidesAtListener: Clears = (policy) => decidesConnections(policy) || decidesRequests(policy)

function mayBeSuspect({ isOdd, readsHostname, variables }: Wording): boolean {
  return isOdd || readsHostname || variables.length > 0
}

function isClear(
  { isOdd, readsHostname, variables }: Wording,
  policy: Attached,
  neighbours: readonly Attached[],
  above: ReadonlySet<string>,
): boolean {
  if (isOdd || readsHostname) return false
  if (variables.every((variable) => above.has(variable))) return true
  const own = new Set(above)
  noteSet(
    neighbours.filter((one) => one.policy === policy.policy),
    own,
  )
  return variables.every((variable) => own.has(variable))
}

/** Adds the variables that the authentications among these policies set. */
function noteSet(policies: readonly Attached[], variables: Set<string>): void {
  for (const { state, section, kind } of policies) {
    if (state !== 'valid' || section !== 'traffic') continue
    for (const variable of SETS.get(kind) ?? []) variables.add(variable)
  }
}

type Read = (policy: Attached) => readonly Wording[]

/** Policies that are written the same way share their value. */
function wordingReader(): Read {
  const known = new Map<unknown, readonly Wording[]>()
  return (policy) => {
    if (policy.state !== 'valid' || !KINDS.has(policy.kind)) return NO_RULES
    const { value } = policy as ValidPolicy<Authorization>
    const found = known.get(value)
    if (found !== undefined) return found
    const made = value.rules.map(wordingOf)
    known.set(value, made)
    return made
  }
}

const NO_RULES: readonly Wording[] = []
const KINDS = kindsThat(({ hasRules }) => hasRules === true)

function wordingOf(rule: AuthorizationRule): Wording {
  const { expression } = rule
  return {
    rule,
    isOdd: hasOddLiteral(expression),
    readsHostname: expression.includes('hostname'),
    variables: VARIABLES.filter((variable) => expression.includes(variable)),
  }
}

function hasOddLiteral(expression: string): boolean {
  const has = (part: string) => expression.includes(part)
  if (has('.address')) return has('string')
  const [method, host, path] = [has('.method'), has('.host'), has('.path')]
  if (!method && !host && !path) return false
  const literals = (expression.match(LITERALS) ?? []).map((text) => text.slice(1, -1))
  return literals.some(
    (text) =>
      (method && /[a-z]/.test(text)) ||
      (host && /[A-Z*:]/.test(text)) ||
      (path && (!text.startsWith('/') || /[?#]|\/\./.test(text))),
  )
}

/** The policies of the route, its rules and their backends. A route without rules has no point. */
function policiesIn(
  { policies, rules }: Route,
  backends: ReadonlyMap<string, Backend>,
): readonly (readonly Attached[])[] {
  const found: (readonly Attached[])[] = rules.length > 0 ? [policies] : []
  for (const rule of rules) {
    found.push(rule.policies)
    if (rule.action.kind !== 'forward') continue
    for (const ref of rule.action.backends) {
      found.push(ref.policies)
      const backend = backends.get(ref.backend)
      if (backend === undefined) continue
      found.push(backend.policies, ...partsOf(backend).map((part) => part.policies))
    }
  }
  return found.filter((own) => own.length > 0)
}
