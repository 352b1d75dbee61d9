import type { Model } from '../../model/model.ts'
import { solve } from '../symbolic/solve.ts'
import { withForms } from './call-forms.ts'
import { followUp, withoutShown } from './calls.ts'
import { partName } from './causes.ts'
import { changedRoutes } from './changed-routes.ts'
import type { Decide, Difference, SemanticDiff, Untold } from './difference.ts'
import { doorsBefore, type Entry, isSameEntry, type Ways, waysThrough } from './entries.ts'
import { ask, example, type Found, type Sides } from './find-example.ts'
import { AMBIGUOUS_NAME, type NamesRead, nameChanges, rejectedByOne } from './header-names.ts'
import { type UnaccountedPart, unaccountedParts } from './parts.ts'
import { mayMeet } from './precedence.ts'
import { routeText } from './route-conditions.ts'
import { type Searched, search, searchBeyond } from './search.ts'
import { servicesCalled } from './services.ts'
import { withoutMessageRules } from './unlooked.ts'

const MAX_PAIRS = 4_000

interface Read {
  readonly old: NamesRead
  readonly now: NamesRead
}

/**
 * The requests that a change newly admits or rejects, with an example for each way through the
 * gateway. Both programs decided every example. If there is no example, it is proven that there can
 * be none, or the result is reported as unknown.
 */
export function compareModels(
  before: Model,
  after: Model,
  decide: { readonly old: Decide; readonly now: Decide },
  read?: Read,
  /** Whether calls by the name of a model are compared elsewhere, as `compareModelCalls` does. */
  isByName = false,
): SemanticDiff {
  const changed = changedRoutes(before, after)
  const sidesOf = (routes?: ReadonlySet<string>) => {
    const [old, now] = [before, after].map((model) => withForms(waysThrough(model, routes))) as [
      Ways,
      Ways,
    ]
    return {
      admitted: { from: old, to: now, decideFrom: decide.old, decideTo: decide.now },
      refused: { from: now, to: old, decideFrom: decide.now, decideTo: decide.old },
    }
  }
  const sides = sidesOf(changed?.compared)
  const all = changed === undefined || isReadAlike(read) ? sides : sidesOf()
  const parts = unaccountedParts(before, after)
  const found = (['admitted', 'refused'] as const).map((kind): SemanticDiff => {
    const { differences, untold } = oneWay(kind, sides[kind], isByName, changed?.moved)
    const [from, to] = kind === 'admitted' ? [read?.old, read?.now] : [read?.now, read?.old]
    const named = byNames(kind, all[kind], from, to)
    return {
      differences: [...differences, ...named.differences],
      untold: [...unaccounted(parts, kind), ...untold, ...named.untold],
    }
  })
  return {
    differences: found.flatMap(({ differences }) => differences),
    untold: found.flatMap(({ untold }) => [
      ...new Map(untold.map((one) => [JSON.stringify(one), one])).values(),
    ]),
  }
}

/** Whether both configurations reject the same headers on all routes. */
function isReadAlike(read: Read | undefined): boolean {
  if (read === undefined) return true
  const { old, now } = read
  return rejectedByOne(old, now).length + rejectedByOne(now, old).length === 0
}

/** Headers that are rejected because they may be mistaken for one that only one side reads. */
function byNames(
  kind: Difference['kind'],
  sides: Sides,
  from: NamesRead | undefined,
  to: NamesRead | undefined,
): SemanticDiff {
  const differences: Difference[] = []
  const untold: Untold[] = []
  if (from === undefined || to === undefined) return { differences, untold }
  for (const { listener, name, entries } of nameChanges(sides.to.entries, from, to)) {
    const place = { kind, listener, route: '' }
    const found = firstFound(entries, (entry) => withHeader(entry, name, sides))
    if (found === undefined) {
      const why = `only one configuration rejects the header \`${name}\`, and no example was found`
      if (entries.some((entry) => mayAdmit(entry, sides))) untold.push({ ...place, why })
      continue
    }
    const { entry, example, denying, admitting } = found
    const [old, now] = kind === 'admitted' ? [denying, admitting] : [admitting, denying]
    const none = { backend: undefined, provider: undefined }
    differences.push({ ...place, ...none, example, old, now, ...servicesCalled(entry) })
  }
  return { differences, untold }
}

/** Max number of ways that are searched for one more example. */
const MAX_WAYS = 40

function firstFound(
  entries: readonly Entry[],
  find: (entry: Entry) => Found | undefined,
): (Found & { readonly entry: Entry }) | undefined {
  for (const entry of entries.slice(0, MAX_WAYS)) {
    const found = find(entry)
    // Other reasons are reported elsewhere.
    if (found?.denying.reason === AMBIGUOUS_NAME) return { ...found, entry }
  }
  return undefined
}

function mayAdmit(entry: Entry, sides: Sides): boolean {
  return solve(ask(entry, 'none', sides, 'proof').given).kind !== 'impossible'
}

/** An admitted request with one more header. */
function withHeader(entry: Entry, name: string, sides: Sides): Found | undefined {
  const { given, facts } = ask(entry, 'none', sides, 'search')
  return example(given, entry, facts, sides, 'none', (request) => ({
    ...request,
    headers: { ...request.headers, [name]: '1' },
  })).found
}

function unaccounted(
  parts: readonly UnaccountedPart[],
  kind: Difference['kind'],
): readonly Untold[] {
  return parts.flatMap(({ part, listeners, route }) =>
    listeners.map((listener) => ({
      kind,
      listener,
      route,
      why: `${partName(part)} differs, and its effect is not analyzed`,
      part,
    })),
  )
}

/** What `to` admits and `from` does not. */
function oneWay(
  kind: Difference['kind'],
  sides: Sides,
  isByName: boolean,
  moved: ReadonlySet<string> | undefined,
): SemanticDiff {
  const { from, to } = sides
  const differences: Difference[] = []
  const untold: Untold[] = []
  /** The reasons of examples, by place. */
  const shown = new Map<string, readonly string[]>()
  const counterparts = counterpartsIn(from, to, moved)
  let pairs = 0
  for (const entry of to.entries) {
    const { listener, route, backend, provider } = entry
    const place = { kind, listener, route }
    const others = counterparts(entry)
    const asked = servicesCalled(entry)
    let isUntold: string | undefined
    const report = (found: Searched) => {
      if (found.untold !== undefined) isUntold = found.untold
      for (const one of found.examples) {
        const { example, denying, admitting, isOverLimit } = one
        const [old, now] = kind === 'admitted' ? [denying, admitting] : [admitting, denying]
        if (shown.get(placeOf(entry))?.includes(denying.reason)) continue
        const limited = isOverLimit === undefined ? {} : { isOverLimit }
        // Requests that must be calls are denied before a provider is chosen.
        const isForAll = entry.form?.name === 'other' && denying.isUnserved === true
        const by = isForAll ? undefined : provider
        const reached = { ...place, backend, provider: by }
        differences.push({ ...reached, example, old, now, ...asked, ...limited })
        shown.set(placeOf(entry), [...(shown.get(placeOf(entry)) ?? []), old.reason, now.reason])
      }
    }
    const beside = providersBeside(entry, from)
    if (beside !== undefined) {
      // Calls by the name of a model are compared by name.
      if (beside !== 'by name') report(searchBeyond(entry, beside, sides))
      if (isUntold !== undefined) untold.push({ ...place, why: isUntold, ...followUp(entry) })
      continue
    }
    for (const other of others) {
      if (isByName && isSameCalls(entry, other)) continue
      if (other !== 'none' && other.key !== entry.key && ++pairs > MAX_PAIRS) {
        isUntold = 'there are too many routes to compare every pair'
        break
      }
      const found = isSameWay(entry, other)
        ? search(withoutMessageRules(entry), withoutMessageRules(other), sides)
        : search(entry, other, sides)
      report(found)
    }
    if (isUntold !== undefined) untold.push({ ...place, why: isUntold, ...followUp(entry) })
  }
  return { differences, untold: withoutShown(untold, differences) }
}

/**
 * The providers that served the same requests, if this one is new among them. Undefined if it is
 * not, or if the way was another.
 */
function providersBeside(entry: Entry, from: Ways): readonly Entry[] | 'by name' | undefined {
  const { form, way, match, provider } = entry
  if (form === undefined || provider === undefined) return undefined
  const there = from.entries.filter(
    (one) => one.way === way && one.match?.id === match?.id && isSameForm(one, entry),
  )
  if (there.length === 0 || there.some(({ key }) => key === entry.key)) return undefined
  const named = [...there, entry].map(hasNames)
  if (named.every(Boolean)) return 'by name'
  return named.some(Boolean) ? undefined : there
}

/** Calls on the same way, of clients that choose by the name of a model. */
function isSameCalls(entry: Entry, other: Entry | 'none'): boolean {
  if (other === 'none' || other.key !== entry.key || !isCall(entry)) return false
  return [entry, other].every(hasNames)
}

function isCall({ form }: Entry): boolean {
  return form?.name === 'call' || form?.name === 'stored'
}

function hasNames({ where: { backend } }: Entry): boolean {
  return backend?.kind === 'ai' && backend.models !== undefined
}

/** Messages to the same servers on the same way are compared one by one. */
function isSameWay(entry: Entry, other: Entry | 'none'): other is Entry {
  return (
    other !== 'none' && other.key === entry.key && entry.unlooked['mcp'] === other.unlooked['mcp']
  )
}

/** One example for each of these and each reason is enough. */
function placeOf({ listener, route, backend = '' }: Entry): string {
  return `${listener} ${route} ${backend}`
}

/**
 * The ways that matched the same requests: the same way, or any way if routes changed; `none` if
 * nothing did. If it is given which routes moved, no other route got requests of another one.
 */
function counterpartsIn(
  from: Ways,
  to: Ways,
  moved: ReadonlySet<string> | undefined,
): (entry: Entry) => readonly (Entry | 'none')[] {
  const byKey = new Map(from.entries.toReversed().map((entry) => [entry.key, entry]))
  const byMatch = Map.groupBy(from.entries, ({ match }) => match?.id)
  const byListener = Map.groupBy(from.entries, ({ listener }) => listener)
  const own = new Set(to.entries.map(({ way }) => way))
  const alike = new Set(
    [...to.matches.keys()].filter((name) => matchesAt(from, name) === matchesAt(to, name)),
  )
  return (entry) => {
    const doors = doorsBefore(entry, from, to)
    const same = doors.includes(entry.listener) ? byKey.get(entry.key) : undefined
    if (alike.has(entry.listener) && same !== undefined) {
      // Backends that only `from` has received a share of the same requests.
      const beside = (byMatch.get(entry.match?.id) ?? []).filter(
        ({ listener, way }) => doors.includes(listener) && !own.has(way),
      )
      return [...(isSameEntry(same, entry) ? [] : [same]), ...beside]
    }
    const isNear = (other: Entry) => {
      const isMoved = moved === undefined || [entry, other].some(({ route }) => moved.has(route))
      return (isMoved || other.route === entry.route) && mayBeShared(entry, other)
    }
    const here = doors.flatMap((door) => byListener.get(door) ?? []).filter(isNear)
    const others = othersThan(entry, same, here)
    return moved === undefined || moved.has(entry.route) ? [...others, 'none'] : others
  }
}

/** Any way that may have matched the same requests before routes changed. */
function othersThan(
  entry: Entry,
  same: Entry | undefined,
  here: readonly Entry[],
): readonly Entry[] {
  // Each provider of a backend is compared with itself, if it exists on both sides.
  const isBeside = ({ way, match, provider }: Entry) =>
    provider !== entry.provider &&
    here.some((one) => one.way === way && one.match === match && one.provider === entry.provider)
  const rest = here.filter(
    (other) =>
      other !== same && isSameForm(other, entry) && !isSameEntry(other, entry) && !isBeside(other),
  )
  const first = same === undefined || isSameEntry(same, entry) ? [] : [same]
  return [...first, ...rest]
}

/** Whether the same request may match both; `one` may be the other's counterpart under its key. */
function mayBeShared({ match: one }: Entry, { match: other }: Entry): boolean {
  return one === undefined || other === undefined || mayMeet(one, other)
}

/** No request is of two forms, which a backend of model providers distinguishes. */
function isSameForm({ form: one }: Entry, { form: other }: Entry): boolean {
  return one === undefined || other === undefined || one.name === other.name
}

function matchesAt({ matches }: Ways, listener: string): string {
  const own = matches.get(listener) ?? []
  return own.map(({ id, condition }) => `${id} ${routeText(condition)}`).join('\n')
}
