import { STAGES } from '../../cel/index.ts'
import type { Value } from '../../cel/values/value.ts'
import type { Model } from '../../model/model.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { admits, learnEntry } from '../diff/admission.ts'
import type { Decide, Verdict } from '../diff/compare.ts'
import { authenticationsOf, type Entry, type Ways, waysThrough } from '../diff/entries.ts'
import type { ExampleRequest } from '../diff/example.ts'
import { acceptanceOf, credentialsOf } from '../scopes.ts'
import type { Fact, Facts } from '../symbolic/attribute-tree.ts'
import { negation } from '../symbolic/formula.ts'
import { solve } from '../symbolic/solve.ts'
import { Space } from '../symbolic/space.ts'
import type { RecordedDecision } from './recorded.ts'
import { IDENTITIES, type RecordedRequest, requestsIn } from './requests.ts'

/** A recorded request that the new configuration would decide otherwise. */
export interface Changed {
  readonly kind: 'admitted' | 'refused'
  readonly route: string
  /** Why it was refused, or would be. */
  readonly reason: string
  readonly id: string
  readonly time: string
  readonly request: ExampleRequest
}

export interface Replay {
  readonly requests: number
  readonly unchanged: number
  /** Newly admitted first. */
  readonly changed: readonly Changed[]
  /** What could not be told, by what it depends on. */
  readonly unjudged: readonly { readonly why: string; readonly requests: number }[]
  /** Requests that the old configuration decides otherwise than was recorded. */
  readonly disagreeing: number
}

export interface Sides {
  readonly old: { readonly model: Model; readonly decide: Decide }
  readonly now: { readonly model: Model; readonly decide: Decide }
}

/** What would have become of recorded requests. */
export function replay(records: Iterable<RecordedDecision>, { old, now }: Sides): Replay {
  const ways = waysThrough(old.model)
  const [was, is] = [judgeOf(ways, old.decide), judgeOf(waysThrough(now.model), now.decide)]
  const changed: Changed[] = []
  const unjudged = new Map<string, number>()
  let [requests, unchanged, disagreeing] = [0, 0, 0]
  for (const one of requestsIn(records)) {
    requests++
    const recorded = withCredentials(one, ways)
    const { id, time, request } = recorded
    const before = was(recorded)
    if (typeof before !== 'string' && before.isAdmitted !== recorded.isAdmitted) disagreeing++
    const after = is(recorded)
    if (typeof after === 'string') {
      unjudged.set(after, (unjudged.get(after) ?? 0) + 1)
      continue
    }
    if (after.isAdmitted === recorded.isAdmitted) {
      unchanged++
      continue
    }
    const kind = after.isAdmitted ? 'admitted' : 'refused'
    const reason = after.isAdmitted ? recorded.reason : after.reason
    changed.push({ kind, route: after.route || recorded.route, reason, id, time, request })
  }
  return {
    requests,
    unchanged,
    changed: changed.toSorted((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0)),
    unjudged: [...unjudged].map(([why, count]) => ({ why, requests: count })),
    disagreeing,
  }
}

/** A request, and the authentications that it passed when it was recorded. */
interface Authenticated extends RecordedRequest {
  readonly passed: ReadonlySet<string>
  /** Those that leave no variable that must be set: services that were asked, one of several. */
  readonly admittedBy: ReadonlySet<string>
  /** Credentials that it is known not to have. */
  readonly absent: ReadonlySet<string>
}

const NOBODY = {
  passed: new Set<string>(),
  admittedBy: new Set<string>(),
  absent: new Set<string>(),
} as const

/** Whoever came as far as rules had passed what the old configuration asks for. */
function withCredentials(recorded: RecordedRequest, ways: Ways): Authenticated {
  const { isAuthentication, isUnidentified, route, request } = recorded
  if (isAuthentication) return { ...recorded, ...NOBODY, absent: absentIn(recorded, ways) }
  if (isUnidentified || request.isConnection) return { ...recorded, ...NOBODY }
  const entries = entriesFor(ways, recorded, route)
  const passed = entries.flatMap(({ points }) => points.flatMap(({ required }) => required))
  const found = passed.map((name) => {
    const [variable = ''] = name.split('#')
    return [variable, request.identity[variable] ?? {}] as const
  })
  const known = { ...request.identity, ...Object.fromEntries(found) }
  const asked = entries.flatMap(authenticationsOf).filter(isOpaque)
  // One of several was there, and which it was makes no difference to whoever asks for that alone.
  const isSomebody = Object.keys(known).length === 0 && asked.some(({ kind }) => kind === ANY_OF)
  const identity = isSomebody ? { jwt: {} } : known
  return {
    ...recorded,
    ...NOBODY,
    passed: new Set(passed),
    admittedBy: new Set(asked.map(acceptanceOf)),
    request: { ...request, identity },
  }
}

const ANY_OF = 'authentication'

/** What it says cannot be told by a variable. */
function isOpaque({ kind }: ValidPolicy): boolean {
  return kind === ANY_OF || kind === 'extAuthz'
}

/** What the authentication that found nothing would have taken. */
function absentIn(recorded: RecordedRequest, ways: Ways): ReadonlySet<string> {
  const { missed, route } = recorded
  const asked = entriesFor(ways, recorded, route).flatMap(authenticationsOf)
  const own = asked.filter(({ policy, kind }) => policy === missed?.policy && kind === missed.kind)
  return new Set(own.map(credentialsOf))
}

/** The verdict, or why there is none. */
type Judge = (recorded: Authenticated) => Verdict | string

function judgeOf(ways: Ways, decide: Decide): Judge {
  const known = new Map<string, Verdict | string>()
  return (recorded) => {
    const { request } = recorded
    const verdict = decide(request)
    if (verdict === undefined) return 'the request cannot be decided here'
    const entries = entriesFor(ways, recorded, verdict.route)
    const hidden = hiddenOf(entries, recorded)
    if (recorded.isAuthentication) {
      const refused = judgeCredentials(entries, recorded, verdict)
      if (refused !== undefined) return refused
    }
    const unasked = unaskedIn(entries, recorded)
    if (unasked !== undefined && (verdict.isAdmitted || verdict.reason.startsWith('401'))) {
      return `what \`${unasked}\` would have said is not in the record`
    }
    if (hidden.length === 0) return verdict
    const key = JSON.stringify([entries.map((entry) => entry.key), [...recorded.known], request])
    const found = known.get(key) ?? judgeUnknown(entries, recorded, verdict, hidden)
    known.set(key, found)
    return found
  }
}

/** An authentication that nobody asked then, and whose answer nobody knows. */
function unaskedIn(entries: readonly Entry[], recorded: Authenticated): string | undefined {
  const { admittedBy, absent } = recorded
  const unasked = entries
    .flatMap(authenticationsOf)
    .filter(isOpaque)
    .find((one) => !admittedBy.has(acceptanceOf(one)) && !absent.has(credentialsOf(one)))
  return unasked?.kind
}

function entriesFor(
  { entries }: Ways,
  { request, backend }: RecordedRequest,
  route: string,
): readonly Entry[] {
  if (request.isConnection) {
    const [any] = entries.filter((one) => one.listener === request.listener)
    const points = any?.points.filter(({ stage }) => stage === 'connection')
    return any === undefined || points === undefined ? [] : [{ ...any, points }]
  }
  const here = entries.filter((one) => one.listener === request.listener && one.route === route)
  const same = here.filter((one) => backend !== undefined && one.backend === backend)
  return same.length > 0 ? same : here
}

/**
 * Nobody knows what would have been found in credentials: they are refused as long as asked for.
 * Undefined where rules alone decide, since nobody looks for any, or for those that were not there.
 */
function judgeCredentials(
  entries: readonly Entry[],
  { absent }: Authenticated,
  verdict: Verdict,
): Verdict | string | undefined {
  if (!verdict.isAdmitted && verdict.reason.startsWith('401')) return verdict
  const asks = entries.some(({ points }) => points.some(({ required }) => required.length > 0))
  if (asks)
    return { ...verdict, isAdmitted: false, reason: '401: the credentials were not accepted' }
  const isNobody = entries
    .flatMap(authenticationsOf)
    .every((policy) => absent.has(credentialsOf(policy)))
  return isNobody ? undefined : 'credentials that were not accepted then are not in the record'
}

/** Names of what the rules read and the record does not show. */
function hiddenOf(entries: readonly Entry[], recorded: Authenticated): readonly string[] {
  const { known, passed } = recorded
  const names = new Set(
    entries.flatMap(({ points }) =>
      points.flatMap(({ rules }) => rules.flatMap(({ reads }) => reads.map(({ path }) => path))),
    ),
  )
  const asked = entries.flatMap(({ points }) => points.flatMap(({ required }) => required))
  const others = asked
    .filter((name) => !passed.has(name))
    .map((name) => name.split('#')[0] as string)
  // Whoever is judged though its credentials were refused then is nobody now.
  const isKnown = (name: string) =>
    known.has(name) || isPlace(name) || (recorded.isAuthentication && IDENTITIES.test(name))
  const hidden = [...names].filter((name) => !isKnown(name))
  return [...new Set([...hidden, ...others])].sort()
}

/** Known by where the request is. */
function isPlace(name: string): boolean {
  return /^(?:proxy|backend|llm)(?:\.|$)|^request\.scheme$|^destination\./.test(name)
}

/** Whatever the hidden values were, does it come to the same? */
function judgeUnknown(
  entries: readonly Entry[],
  recorded: Authenticated,
  { route }: Verdict,
  hidden: readonly string[],
): Verdict | string {
  const told = entries.map((entry): readonly [way: string, boolean | undefined] => {
    const facts = factsFrom(entry, recorded)
    const space = new Space(STAGES.backend, facts, 'proof')
    learnEntry(space, entry)
    const admitted = admits(space, entry)
    const isPossible = (formula: typeof admitted) =>
      solve([formula, ...space.axioms]).kind !== 'impossible'
    const [can, cannot] = [isPossible(admitted), isPossible(negation(admitted))]
    return [entry.way, can === cannot ? undefined : can]
  })
  const verdicts = [...Map.groupBy(told, ([way]) => way).values()].map(anyOf)
  const [first] = verdicts
  if (first === undefined || verdicts.some((one) => one !== first)) {
    return `it depends on ${hidden.join(', ')}, which the record does not show`
  }
  const reason = first
    ? 'admitted'
    : 'refused, whatever the values were that the record does not show'
  return { isAdmitted: first, route, reason }
}

/** Of several providers one that may be asked is enough. */
function anyOf(told: readonly (readonly [string, boolean | undefined])[]): boolean | undefined {
  if (told.some(([, isAdmitted]) => isAdmitted === true)) return true
  return told.every(([, isAdmitted]) => isAdmitted === false) ? false : undefined
}

/** What the record shows, under the names by which the rules of this entry know it. */
function factsFrom({ points }: Entry, recorded: Authenticated): Facts {
  const { known, passed, isAuthentication } = recorded
  const facts = new Map<string, Fact>(points.flatMap((point) => [...point.facts]))
  const scopes = points.flatMap(({ rules, required }) => [
    ...required,
    ...rules.flatMap(({ condition }) => [...(condition.names?.values() ?? [])]),
  ])
  // What the entry takes for granted is for it to ask, unless it was passed then.
  for (const name of points.flatMap(({ required }) => required)) facts.delete(name)
  for (const name of passed) facts.set(name, { kind: 'set' })
  if (isAuthentication) {
    for (const name of facts.keys()) if (name.includes('#')) facts.delete(name)
    for (const name of scopes.filter((one) => one.includes('#'))) facts.set(name, { kind: 'unset' })
  }
  for (const [name, value] of known) {
    const [variable = ''] = /^\w+/.exec(name) ?? []
    // Where a request is the entry says; what was recorded may be of another provider.
    if (OF_PLACE.has(variable)) continue
    const own = [...new Set(scopes)].filter((scope) => scope.startsWith(`${variable}#`))
    const names = own.length === 0 ? [variable] : own
    for (const one of names) {
      const fact = facts.get(one)
      if (fact?.kind === 'unset') continue
      facts.set(one + name.slice(variable.length), factOf(value))
    }
  }
  return facts
}

const OF_PLACE: ReadonlySet<string> = new Set(['proxy', 'backend', 'llm'])

function factOf(value: Value | undefined): Fact {
  return value === undefined ? { kind: 'unset' } : { kind: 'values', values: [value], isSet: true }
}
