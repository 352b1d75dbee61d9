import { clientsOf, servesRequests } from '../../model/gateway.ts'
import { coverage, rankFor, reachable } from '../../model/hostnames.ts'
import type { Model } from '../../model/model.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { nameOf } from '../../reach/attachment.ts'
import { pointsOf as reachedPoints } from '../../reach/points.ts'
import { Reach } from '../../reach/reach.ts'
import type { Where } from '../../reach/where.ts'
import { ruleReader } from '../placed-rule.ts'
import { conditionsAt, type Point, pointAt } from '../points.ts'
import { acceptanceOf, credentialsOf, isPermissive, isSingle, isWithin } from '../scopes.ts'
import type { Condition } from '../symbolic/space.ts'
import type { Ranked } from './precedence.ts'
import type { CallShape, RequestForm } from './request-form.ts'
import { routeCondition, routeText } from './route-conditions.ts'
import { streamEntries } from './stream-entries.ts'
import { spokenBy, unlookedAt, withKeptBodies, withModelRules } from './unlooked.ts'

/** One way through a gateway (listener, match, backend or its provider), and what guards it. */
export interface Entry {
  /** The same in two configurations if it is the same way. */
  readonly key: string
  /** The same for all providers of one backend: a client is admitted if it may call one of them. */
  readonly way: string
  readonly where: Where
  /** `gateway/listener` */
  readonly listener: string
  readonly route: string
  readonly backend: string | undefined
  /** For an AI backend. */
  readonly provider: string | undefined
  /** Undefined on listeners without routes. */
  readonly match: RouteMatch | undefined
  /** On listeners without routes, the server names of the accepted connections, joined. */
  readonly names: string
  /** The same as a condition, if connections have names. */
  readonly served?: Condition | undefined
  /** Whether anything serves admitted requests: a backend with a share, or a response for all. */
  readonly isServed: boolean
  /** Other policies that decide on the way and are not analyzed. */
  readonly unlooked: Readonly<Record<string, string>>
  readonly points: readonly Point[]
  /** For messages to one MCP server, about one kind of feature that it offers. */
  readonly message?: CalledMessage
  /** For calls to one model, the name that clients use for it. */
  readonly model?: string
  /** For a backend of model providers: which of the requests on this way. */
  readonly form?: RequestForm
  /** For an example: a real call, which the facts describe. */
  readonly shape?: CallShape
}

export interface CalledMessage {
  readonly server: string
  /** `none` for a message that names nothing, such as `initialize`. */
  readonly part: 'tool' | 'prompt' | 'resource' | 'none'
  /** The prefix that clients write before the name; empty if there is none. */
  readonly prefix: string
  /** Default name and method, for attributes that no rule reads. */
  readonly name: string
  readonly method: string
  readonly isNotification?: true
  /** Set if rules distinguish arguments that are no object, which are not set. */
  readonly mayLackArguments?: true
}

/** One match of one route, as an expression, with its rank among the others. */
export interface RouteMatch extends Ranked {
  /** Consists of the listener, the route, its rule, the match in it and the hostname. */
  readonly id: string
  /** Index of the match in its rule. */
  readonly index: number
  readonly condition: Condition
}

/** All ways through the gateways, and what the routes of each listener match. */
export interface Ways {
  readonly entries: readonly Entry[]
  readonly matches: ReadonlyMap<string, readonly RouteMatch[]>
  readonly listeners: readonly Door[]
}

/** A listener, with what distinguishes it from others on its port. */
export interface Door {
  /** `gateway/listener` */
  readonly name: string
  readonly port: number | undefined
  /** Undefined means any. */
  readonly hostname: string | undefined
}

/** The listener of a port that receives requests for the host; undefined if there is none. */
export function doorFor({ listeners }: Ways, port: number, host: string): string | undefined {
  const rank = ({ hostname }: Door) => rankFor(hostname, host)
  const able = listeners.filter((one) => one.port === port && rank(one) >= 0)
  const [best] = able.sort((a, b) => rank(b) - rank(a))
  return best?.name
}

/** The listeners that may have received the same requests: its own, or all if they changed. */
export function doorsBefore({ match, listener, where }: Entry, from: Ways, to: Ways) {
  const { port } = where.listener
  const on = ({ listeners }: Ways) => listeners.filter((one) => one.port === port)
  const [old, now] = [on(from), on(to)]
  const isChanged = JSON.stringify(old) !== JSON.stringify(now)
  if (match === undefined || port === undefined || old.length === 0 || !isChanged) return [listener]
  return old.map(({ name }) => name)
}

/** With the entries of these routes only, if they are given, and what all routes match. */
export function waysThrough(model: Model, routes?: ReadonlySet<string>): Ways {
  const read = ruleReader()
  const reach = new Reach(model)
  const entries: Entry[] = []
  const matches = new Map<string, RouteMatch[]>()
  const byId = new Map<string, RouteMatch>()
  const listeners: Door[] = []
  let connection: Point | undefined
  let traffic: Point | undefined
  for (const reached of reachedPoints(model)) {
    // MCP is a separate stage, which requests have not reached yet.
    if (reached.stage === 'mcp') continue
    const { gateway, listener, route, rule, index, backend, provider } = reached.where
    const door = `${gateway.name}/${listener.name}`
    if (route !== undefined && routes?.has(route.name) === false) {
      if (reached.stage !== 'traffic') continue
      learnMatches(matches.get(door) as RouteMatch[], byId, reach, reached.where)
      continue
    }
    const point = pointAt(reached, read)
    if (point.stage === 'connection') {
      connection = point
      matches.set(door, [])
      listeners.push({ name: door, port: listener.port, hostname: nameOf(listener) })
      if (!servesRequests(listener)) entries.push(...streamEntries(reach, point, door))
      continue
    }
    if (point.stage === 'traffic') traffic = point
    if (route === undefined || rule === undefined || connection === undefined) continue
    // An invalid route responds to all requests with an error.
    const isReplied =
      traffic !== undefined && repliesToAll(traffic) && rule.action.kind === 'forward'
    const hasBackends =
      rule.action.kind === 'forward' && rule.action.backends.some(({ weight }) => weight > 0)
    const isLast = !hasBackends || isReplied
    if ((point.stage === 'traffic') !== isLast) continue
    if (point.where.ref?.weight === 0) continue
    const before = point.stage === 'traffic' ? [connection] : [connection, traffic as Point]
    const points = [...before, point]
    const known = matches.get(door) as RouteMatch[]
    for (const own of learnMatches(known, byId, reach, point.where)) {
      const way = [door, route.name, index, own.index, backend?.name ?? '']
      entries.push({
        key: [...way, provider?.name ?? '', own.hostname].join(' '),
        way: way.join(' '),
        where: point.where,
        listener: door,
        route: route.name,
        backend: backend?.name,
        provider: provider?.name,
        match: own,
        names: '',
        isServed: hasBackends || isReplied,
        unlooked: { ...unlookedAt(points), ...spokenBy(backend, provider, points) },
        points,
      })
    }
  }
  return { entries: withKeptBodies(withModelRules(entries)), matches, listeners }
}

/** More specific names of other listeners on the port, which receive the requests for them. */
function nearerNames(reach: Reach, listener: Where['listener']): readonly string[] {
  if (listener.port === undefined) return []
  const own = nameOf(listener)
  if (own !== undefined && !own.startsWith('*.')) return []
  const others = [...reach.listeners()].flatMap(({ listener: one }) =>
    one.port === listener.port ? (nameOf(one) ?? []) : [],
  )
  return [...new Set(others)]
    .filter((name) => name !== own && (own === undefined || coverage(own)(name)))
    .sort()
}

/** The matches of a rule, which are added to those that are known. */
function learnMatches(
  known: RouteMatch[],
  byId: Map<string, RouteMatch>,
  reach: Reach,
  where: Where,
): readonly RouteMatch[] {
  const own: RouteMatch[] = []
  for (const match of matchesOf(
    reach,
    where,
    { known, byId },
    nearerNames(reach, where.listener),
  )) {
    if (!byId.has(match.id)) {
      byId.set(match.id, match)
      known.push(match)
    }
    own.push(match)
  }
  return own
}

interface LearnedMatches {
  /** In order. */
  readonly known: readonly RouteMatch[]
  readonly byId: ReadonlyMap<string, RouteMatch>
}

/** One for each match of a rule and each hostname of its route. Known matches are reused. */
function* matchesOf(
  reach: Reach,
  { gateway, listener, route, rule, index: place }: Where,
  { known, byId }: LearnedMatches,
  nearer: readonly string[],
): Generator<RouteMatch> {
  if (route === undefined || rule === undefined) return
  const door = `${gateway.name}/${listener.name}`
  const seen = reach.routeOn({ gateway, listener }, route)?.hostnames ?? []
  for (const [index, match] of rule.matches.entries()) {
    for (const hostname of seen.length === 0 ? [''] : new Set(seen)) {
      // Includes the owner because routes without matches of their own share one object.
      const id = [door, route.name, place, index, hostname].join(' ')
      yield byId.get(id) ?? {
        id,
        index,
        hostname,
        condition: routeCondition(
          listener,
          hostname,
          match,
          nearer.filter((name) => hostname === '' || reachable([hostname], name) !== undefined),
        ),
        match,
        order: known.length,
      }
    }
  }
}

/** Authentications of `one` that `other` does not have, or that accept other credentials there. */
export function authenticationsBeyond(one: Entry, other: Entry): readonly ValidPolicy[] {
  const known = new Set(authenticationsOf(other).map(acceptanceOf))
  const beyond = authenticationsOf(one).filter((policy) => !known.has(acceptanceOf(policy)))
  return beyond.filter((policy) => !isPermissive(policy) && !isPassedByAll(policy, other))
}

/**
 * Whether both require the same credentials. `one` admits no request with absent or bad
 * credentials. `other` admits either all of those or none, which the variable shows.
 */
function isPassedByAll(policy: ValidPolicy, other: Entry): boolean {
  if (authenticationsOf(other).some((one) => isWithin(one, policy))) return true
  const { mode = 'Strict' } = policy.value as { readonly mode?: string }
  if (!isSingle(policy) || mode !== 'Strict') return false
  return authenticationsOf(other).some((one) => credentialsOf(one) === credentialsOf(policy))
}

function repliesToAll({ replies }: Point): boolean {
  return replies !== 'untold' && replies.some(({ when }) => when === undefined)
}

export function authenticationsOf({ points }: Entry): readonly ValidPolicy[] {
  return [...new Set(points.flatMap(({ authentications }) => authentications))]
}

/** Settings that determine the source and that differ, if a rule of either entry reads it. */
export function otherSources(one: Entry, other: Entry): readonly string[] {
  if (![one, other].some(readsSource)) return []
  const [own, others] = [beliefsOf(one), beliefsOf(other)]
  const isAsked = [one, other].every(({ where }) => clientsOf(where.listener) !== undefined)
  return (
    Object.keys(own)
      .filter((name) => own[name] !== others[name])
      .filter((name) => isAsked || name !== 'tls.clients')
      // On connections that begin alike, it has the same effect on both sides.
      .filter((name) => name !== 'proxyProtocol')
  )
}

export function readsSource({ points }: Entry): boolean {
  return points.some((point) =>
    conditionsAt(point).some(({ reads }) => reads.some(({ variable }) => variable === 'source')),
  )
}

function beliefsOf({ points }: Entry): Readonly<Record<string, string>> {
  return points[0]?.believes ?? {}
}

/** Whether it is unknown which requests the gateway itself responds to, if this decides. */
export function repliesUntold({ points, isServed }: Entry): boolean {
  if (points.every(({ replies }) => replies !== 'untold')) return false
  const behind = points.filter(({ stage }) => stage === 'backend')
  return !isServed || behind.some(({ rules, invalid }) => rules.length + invalid.length > 0)
}

/** Whether error responses that cannot be predicted differ between the two. */
export function failsOtherwise(one: Entry, other: Entry): boolean {
  const of = ({ points }: Entry) => points.map(({ unknownErrors }) => unknownErrors).join('')
  return of(one) !== of(other)
}

/** Whether nothing that decides differs, so that there is nothing to search for. */
export function isSameEntry(a: Entry, b: Entry): boolean {
  return identityOf(a) === identityOf(b)
}

const IDENTITIES = new WeakMap<Entry, string>()

function identityOf(entry: Entry): string {
  let identity = IDENTITIES.get(entry)
  if (identity === undefined) IDENTITIES.set(entry, (identity = identityText(entry)))
  return identity
}

function identityText(entry: Entry): string {
  const { match, names, points, isServed, unlooked } = entry
  return JSON.stringify([
    match && routeText(match.condition),
    names,
    isServed,
    unlooked,
    authenticationsOf(entry).map(acceptanceOf),
    beliefsOf(entry)['proxyProtocol'],
    readsSource(entry) ? beliefsOf(entry) : '',
    points.map(({ rules, replies, unknownErrors, invalid, required, facts, unknown }) => [
      rules.map(({ rule, isEnforced, condition }) => [
        rule.action,
        rule.expression,
        isEnforced,
        ...(condition.names ?? []),
      ]),
      replies === 'untold'
        ? unknownErrors
        : replies.map(({ when, isError }) => [
            isError,
            when?.condition.text,
            ...(when?.condition.names ?? []),
          ]),
      invalid.length,
      required,
      [...facts],
      unknown,
    ]),
  ])
}
