import { STAGES } from '../../cel/index.ts'
import { clientsOf, type Listener } from '../../model/gateway.ts'
import { hashOf } from '../../model/hash.ts'
import type { Model } from '../../model/model.ts'
import { kindsThat, recordOf } from '../../reach/kinds.ts'
import { Reach } from '../../reach/reach.ts'
import { authenticationsOf, type Entry, isSameEntry, waysThrough } from '../diff/entries.ts'
import type { ExampleRequest } from '../diff/example.ts'
import { decidingLater } from '../diff/services.ts'
import { unlookedKinds } from '../diff/unlooked.ts'
import { type Point, pointsOf } from '../points.ts'
import { TRUE } from '../symbolic/outcome.ts'
import { byProviders, servingModel } from './called-models.ts'
import { credentialsIn, type KnownCredentials } from './credentials.ts'
import { type Judged, judgeWay, mayBeUnserved } from './judge.ts'
import { KnownValues } from './known-values.ts'
import { messagePoints, withMessage } from './messages.ts'
import { evaluateKnown } from './outcomes.ts'
import { readingAt, readOtherwise } from './read-otherwise.ts'
import type { RecordedDecision } from './recorded.ts'
import { type RecordedRequest, requestsIn } from './requests.ts'

/** A recorded request that the new configuration would decide differently. */
export interface Changed {
  readonly kind: 'admitted' | 'refused'
  readonly route: string
  /** Why it was rejected, or would be. */
  readonly reason: string
  readonly id: string
  readonly time: string
  readonly request: ExampleRequest
}

export interface Replay {
  readonly requests: number
  readonly unchanged: number
  /** Newly admitted requests first. */
  readonly changed: readonly Changed[]
  /** Undetermined requests, grouped by what the decision depends on. */
  readonly unknown: readonly { readonly why: string; readonly requests: number }[]
  /** The number of requests that the old configuration decides differently than recorded. */
  readonly disagreeing: number
}

/** Determines where a configuration routes a request; a string says why it does not route it. */
export type Router = (recorded: RecordedRequest) => Routed | string

export interface Routed {
  /** `gateway/listener` */
  readonly listener: string
  /** Names of the routes that may match: none, or several if the record does not say which. */
  readonly routes: readonly string[]
  /** What the choice of route depends on. */
  readonly unknown: readonly string[]
}

export interface Side {
  readonly model: Model
  readonly route: Router
}

export interface Sides {
  readonly old: Side
  readonly now: Side
}

/** The request was not evaluated any further, and the record does not contain its headers. */
const CROSS_SITE = 'it depends on `csrf`, which is not replayed'

/** Decides recorded requests again and reports what would change. */
export function replay(records: Iterable<RecordedDecision>, { old, now }: Sides): Replay {
  const [was, is] = [waysIn(old), waysIn(now)]
  const changed: Changed[] = []
  const unknown = new Map<string, number>()
  let [requests, unchanged, disagreeing] = [0, 0, 0]
  for (const recorded of requestsIn(records)) {
    requests++
    const { id, time, request } = recorded
    if (recorded.isCrossSite) {
      unknown.set(CROSS_SITE, (unknown.get(CROSS_SITE) ?? 0) + 1)
      continue
    }
    const credentials = credentialsIn(recorded, metIn(was, recorded))
    const before = judgeOn(was, recorded, credentials)
    // Rules are evaluated even if nothing serves the request, which then fails anyway.
    const isLost = before.kind === 'refused' && before.isUnserved === true
    const wasAdmitted = recorded.isAdmitted && !isLost && !isUnserved(was, recorded)
    // Something else than a rule may have denied it.
    const isDeniedLater = isAdmitted(before) && !wasAdmitted && before.later !== undefined
    const isOther =
      before.kind !== 'unknown' && isAdmitted(before) !== wasAdmitted && !isDeniedLater
    if (isOther) disagreeing++
    const judged = isOther
      ? judgeOn(is, recorded, credentials)
      : compared(was, is, recorded, credentials)
    // The rules admitted it at the time, and no record contains its response.
    const isDoubtful = recorded.isAdmitted && mayBeUnserved([before]) && judged.isAsBefore !== true
    const isOpen = isAdmitted(judged) && !wasAdmitted && judged.later !== undefined
    const known = isOpen ? ({ kind: 'unknown', on: [judged.later ?? ''] } as Outcome) : judged
    const after = isDoubtful && before.kind === 'unknown' ? before : known
    if (after.kind === 'unknown') {
      const why =
        after.on.length === 0 ? 'the record does not contain enough information' : whyOf(after.on)
      unknown.set(why, (unknown.get(why) ?? 0) + 1)
    } else if (isAdmitted(after) === wasAdmitted) unchanged++
    else {
      const kind = isAdmitted(after) ? 'admitted' : 'refused'
      const reason = after.kind === 'refused' ? after.reason : recorded.reason
      changed.push({ kind, route: after.route || recorded.route, reason, id, time, request })
    }
  }
  return {
    requests,
    unchanged,
    changed: changed.toSorted((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0)),
    unknown: [...unknown].map(([why, count]) => ({ why, requests: count })),
    disagreeing,
  }
}

function isUnserved({ side }: SideWays, recorded: RecordedRequest): boolean {
  return recorded.request.isConnection && typeof side.route(recorded) === 'string'
}

function isAdmitted({ kind }: Judged): boolean {
  return kind === 'admitted'
}

function whyOf(on: readonly string[]): string {
  return `it depends on ${[...new Set(on)].sort().join(', ')}, which the record does not contain`
}

interface SideWays {
  readonly side: Side
  readonly entries: readonly Entry[]
  /** The connection rules of each listener, whether or not a route is attached to it. */
  readonly connections: ReadonlyMap<string, Entry>
  /** A hash of everything that decides which route matches a request. */
  readonly routing: string
  /** The rules for messages to MCP servers, keyed by place. */
  readonly messages: ReadonlyMap<string, Point>
}

function waysIn(side: Side): SideWays {
  const { model } = side
  const routing = hashOf([
    [...new Reach(model).listeners()].map(({ gateway, listener: one }) => [
      gateway.name,
      ...[one.name, one.port, one.hostname, one.protocol],
    ]),
    model.routes.map(({ name, parents, hostnames, rules }) => [
      name,
      parents,
      hostnames,
      rules.map(({ name: rule, matches }) => [rule, matches]),
    ]),
  ])
  const { entries } = waysThrough(model)
  const messages = messagePoints(model)
  return { side, entries, connections: connectionsIn(model, entries), routing, messages }
}

function connectionsIn(model: Model, entries: readonly Entry[]): ReadonlyMap<string, Entry> {
  const found = new Map<string, Entry>()
  for (const point of pointsOf(model)) {
    if (point.stage !== 'connection') continue
    const { gateway, listener } = point.where
    const key = `${gateway.name}/${listener.name}`
    const nothing = { route: '', backend: undefined, provider: undefined, match: undefined }
    const own = { key, way: key, where: point.where, listener: key, ...nothing }
    found.set(key, { ...own, names: '', isServed: true, unlooked: {}, points: [point] })
  }
  // Without requests, the accepted names also count.
  for (const entry of entries) if (entry.match === undefined) found.set(entry.listener, entry)
  return found
}

/** The authentications that all the ways the request may have taken have in common. */
function metIn(ways: SideWays, recorded: RecordedRequest) {
  const known = knownRequest(recorded)
  const own = entriesFor(ways, door(recorded), recorded.route, recorded).filter(
    (entry) => recorded.request.isConnection || mayTake(entry, known),
  )
  const [first, ...others] = own.map(authenticationsOf)
  return (first ?? []).filter((policy) => others.every((all) => all.includes(policy)))
}

function door({ gateway, listener }: RecordedRequest): string {
  return `${gateway}/${listener}`
}

type Outcome = Judged & {
  readonly route?: string
  /** Nothing that decides the request differs. */
  readonly isAsBefore?: true
  /** A policy that decides after the rules. It knows nothing about what they denied. */
  readonly later?: string | undefined
}

/** The judgment for the new configuration, or the recorded one if nothing that decides differs. */
function compared(
  was: SideWays,
  is: SideWays,
  recorded: RecordedRequest,
  credentials: KnownCredentials,
): Outcome {
  const judged = judgeOn(is, recorded, credentials, was)
  if (judged.kind !== 'unknown' || was.routing !== is.routing) return judged
  const of = (ways: SideWays) => entriesFor(ways, door(recorded), recorded.route, recorded)
  const [before, after] = [of(was), of(is)]
  const isSame =
    before.length > 0 &&
    before.length === after.length &&
    before.every((entry, at) => isSameWay(entry, after[at] as Entry))
  if (!isSame) return judged
  const as = { isAsBefore: true } as const
  return recorded.isAdmitted
    ? { kind: 'admitted', ...as }
    : { kind: 'refused', reason: recorded.reason, ...as }
}

function isSameWay(a: Entry, b: Entry): boolean {
  return (
    isSameEntry(a, b) &&
    arrivalAt(a) === arrivalAt(b) &&
    hashOf(readingAt(a)) === hashOf(readingAt(b)) &&
    a.where.ref?.weight === b.where.ref?.weight
  )
}

function judgeOn(
  ways: SideWays,
  recorded: RecordedRequest,
  credentials: KnownCredentials,
  before?: SideWays,
): Outcome {
  const routed = ways.side.route(recorded)
  if (typeof routed === 'string') return { kind: 'refused', reason: routed }
  const { isConnection, path } = recorded.request
  const [there, then] = [
    ways.connections.get(routed.listener),
    before?.connections.get(door(recorded)),
  ]
  const read = isConnection || !there || !then ? undefined : readOtherwise(there, then, path)
  if (read !== undefined) {
    return { kind: 'unknown', on: [`the bytes of the request (\`http.${read}\` differs)`] }
  }
  const old = before
    ? servingModel(entriesFor(before, door(recorded), recorded.route, recorded), recorded).map(
        (entry) => withMessage(entry, recorded.server, before.messages),
      )
    : undefined
  const known = knownRequest(recorded)
  const outcomes = (isConnection ? [''] : routed.routes).flatMap((route): readonly Outcome[] => {
    const all = entriesFor(ways, routed.listener, route, recorded, before).map((entry) =>
      withMessage(entry, recorded.server, ways.messages),
    )
    const able = all.filter((entry) => mayTake(entry, known))
    const own = servingModel(able, recorded)
    if (own.length === 0) return [{ kind: 'refused', reason: 'no route matches', route }]
    const odd =
      before && old && (oddity(own, old, recorded) ?? unseenCertificate(own, before, recorded))
    if (odd !== undefined) return [{ kind: 'unknown', on: [odd], route }]
    const byWay = Map.groupBy(own, ({ way }) => way).values()
    const isOtherName = old !== undefined && isTakenByName(own, old, recorded)
    return [...byWay].map((same) => {
      const judged = byProviders(
        same,
        same.map((entry) => judgeWay(entry, recorded, credentials)),
        recorded,
      )
      const isDoubtful = isOtherName && judged.kind === 'admitted'
      const later = same.map(decidingLater).find((one) => one !== undefined)
      const own: Judged = isDoubtful ? { kind: 'unknown', on: ['the server name'] } : judged
      return { ...own, route, later }
    })
  })
  const [first] = outcomes
  if (first === undefined) return { kind: 'refused', reason: 'no route matches' }
  const isLostOne = (one: Outcome) => one.kind === 'refused' && one.isUnserved === true
  // Rules may have allowed a request that nothing serves, as recorded. That is not a rejection like
  // the others.
  const isAlike = (one: Outcome) => one.kind === first.kind && isLostOne(one) === isLostOne(first)
  if (outcomes.every(isAlike) && first.kind !== 'unknown') return first
  const on = outcomes.flatMap((one) => (one.kind === 'unknown' ? one.on : []))
  const isSplit = on.length === 0
  const isLost = outcomes.some(isLostOne)
  return {
    kind: 'unknown',
    mayBeUnserved: isLost || mayBeUnserved(outcomes),
    on: [
      ...routed.unknown,
      ...on,
      ...(isSplit && routed.unknown.length === 0 ? ['the backend'] : []),
    ],
  }
}

function knownRequest(recorded: RecordedRequest): KnownValues {
  const known = new KnownValues()
  recorded.setRequest(known)
  return known
}

/** Whether this match of a route may be the one that matched. */
function mayTake({ match, served }: Entry, known: KnownValues): boolean {
  const condition = match?.condition ?? served
  const stage = match === undefined ? STAGES.connection : STAGES.traffic
  return (
    condition === undefined || (evaluateKnown(condition.term, stage, known).outcomes & TRUE) !== 0
  )
}

/** Other differences on the way that also decide the request; undefined if there are none. */
function oddity(
  own: readonly Entry[],
  old: readonly Entry[],
  { request }: RecordedRequest,
): string | undefined {
  const [before] = old
  if (before === undefined) return 'how the request arrived'
  if (own.some((entry) => arrivalAt(entry) !== arrivalAt(before))) return 'how the client connected'
  const unlooked = own.flatMap((entry) => unlookedKinds(entry.unlooked, before.unlooked))
  // The record of one request does not show how many requests there are. Requests to models are an
  // exception: those that cannot be counted are denied.
  const isOfModels = own.some(({ where }) => where.backend?.kind === 'ai')
  const isCounting = (kind: string) => COUNTING.has(kind) && !isOfModels
  const deciding = unlooked.find((kind) => !isCounting(kind) && !PREFLIGHTS.has(kind))
  if (deciding !== undefined && !request.isConnection) return `the result of \`${deciding}\``
  const isPreflight = request.method === 'OPTIONS' && !request.isConnection
  return isPreflight && own.some(repliesToPreflights) ? 'the response of `cors`' : undefined
}

/** A service may return any verdict. */
const COUNTING = kindsThat(({ countsRequests, callsService }) => countsRequests && !callsService)
const PREFLIGHTS = kindsThat(({ repliesTo }) => repliesTo === 'preflights')

/**
 * The rules decided about a connection for a server name that no listener had, before any
 * handshake, so nothing is known about its certificate.
 */
function unseenCertificate(
  own: readonly Entry[],
  before: SideWays,
  recorded: RecordedRequest,
): string | undefined {
  const isAsked = own.some(({ where }) => clientsOf(where.listener) !== undefined)
  return isAsked && isUnserved(before, recorded) ? 'the client certificate' : undefined
}

function repliesToPreflights({ where }: Entry): boolean {
  const { gateway, listener, route, rule } = where
  return [gateway, listener, route, rule].some((level) =>
    level?.policies.some(({ kind }) => recordOf(kind)?.repliesTo === 'preflights'),
  )
}

/** Whether server names lead elsewhere than before, and the source alone decided the connection. */
function isTakenByName(
  own: readonly Entry[],
  old: readonly Entry[],
  { request: { isConnection, sni } }: RecordedRequest,
): boolean {
  const names = (entries: readonly Entry[]) => entries.map((entry) => entry.names).join()
  const mayMatter =
    names(own) !== names(old) || own.some((one) => one.served !== undefined && one.names !== '*')
  return isConnection && sni === undefined && mayMatter
}

/** How clients connect, and which proxies the gateway trusts to identify them. */
function arrivalAt({ points, where }: Entry): string {
  const { protocol } = where.listener
  return hashOf([protocol, tlsOf(where.listener), points[0]?.believes])
}

function tlsOf(listener: Listener): unknown {
  return 'tls' in listener ? listener.tls : undefined
}

/** The entries of its backend, unless the backend now shares requests with others than `before`. */
function entriesFor(
  { entries, connections }: SideWays,
  listener: string,
  route: string,
  { request, backend }: RecordedRequest,
  before?: SideWays,
): readonly Entry[] {
  if (request.isConnection) return [connections.get(listener) ?? []].flat()
  const isHere = (one: Entry) => one.listener === listener && one.route === route
  const own = entries.filter(isHere)
  const isShared = before === undefined || sharesOf(own) === sharesOf(before.entries.filter(isHere))
  const same = own.filter((one) => backend !== undefined && one.backend === backend)
  return same.length > 0 && isShared ? same : own
}

/** The share of a route's requests that each way receives. */
function sharesOf(entries: readonly Entry[]): string {
  return JSON.stringify(entries.map(({ way, where }) => [way, where.ref?.weight]))
}
