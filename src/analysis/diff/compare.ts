import type { Model } from '../../model/model.ts'
import { solve } from '../symbolic/solve.ts'
import type { Decide, Difference, SemanticDiff, Untold, Verdict } from './difference.ts'
import { doorsBefore, type Entry, isSameEntry, type Ways, waysThrough } from './entries.ts'
import { AMBIGUOUS_NAME, type NamesRead, nameChanges } from './header-names.ts'
import { type UnaccountedPart, unaccountedParts } from './parts.ts'
import { routeText } from './route-conditions.ts'
import { ask, example, type Found, type Sides, search } from './search.ts'
import { servicesCalled } from './services.ts'

const MAX_PAIRS = 4_000

/**
 * The requests that a change newly admits or rejects, with an example for each way through the
 * gateway. Both programs decided every example. If there is no example, it is proven that there can
 * be none, or the result is reported as unknown.
 */
export function compareModels(
  before: Model,
  after: Model,
  decide: { readonly old: Decide; readonly now: Decide },
  read?: { readonly old: NamesRead; readonly now: NamesRead },
): SemanticDiff {
  const [old, now] = [waysThrough(before), waysThrough(after)]
  const parts = unaccountedParts(before, after)
  const sides = {
    admitted: { from: old, to: now, decideFrom: decide.old, decideTo: decide.now },
    refused: { from: now, to: old, decideFrom: decide.now, decideTo: decide.old },
  }
  const found = (['admitted', 'refused'] as const).map((kind): SemanticDiff => {
    const { differences, untold } = oneWay(kind, sides[kind])
    const [from, to] = kind === 'admitted' ? [read?.old, read?.now] : [read?.now, read?.old]
    const named = byNames(kind, sides[kind], from, to)
    return {
      differences: [...differences, ...named.differences],
      untold: [...unaccounted(parts, kind), ...untold, ...named.untold],
    }
  })
  return {
    differences: found.flatMap(({ differences }) => differences),
    untold: found.flatMap(({ untold }) => untold),
  }
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
      why: `${part} differs, and its effect is not analyzed`,
      part,
    })),
  )
}

/** What `to` admits and `from` does not. */
function oneWay(kind: Difference['kind'], sides: Sides): SemanticDiff {
  const { from, to } = sides
  const differences: Difference[] = []
  const untold: Untold[] = []
  let pairs = 0
  for (const entry of to.entries) {
    const { listener, route, backend, provider } = entry
    const place = { kind, listener, route }
    const others = counterparts(entry, from, to)
    const asked = servicesCalled(entry)
    let isUntold: string | undefined
    for (const other of others) {
      if (++pairs > MAX_PAIRS) {
        isUntold = 'there are too many routes to compare every pair'
        break
      }
      const found = search(entry, other, sides)
      if (found.untold !== undefined) isUntold = found.untold
      for (const { example, denying, admitting } of found.examples) {
        const [old, now] = kind === 'admitted' ? [denying, admitting] : [admitting, denying]
        if (isReported(differences, entry, denying)) continue
        differences.push({ ...place, backend, provider, example, old, now, ...asked })
      }
    }
    if (isUntold !== undefined) untold.push({ ...place, why: isUntold })
  }
  return { differences, untold }
}

/** One example for each way and each reason is enough. */
function isReported(differences: readonly Difference[], { way }: Entry, denying: Verdict): boolean {
  return differences.some(
    ({ listener, route, backend, old, now }) =>
      way.startsWith(`${listener} ${route}`) &&
      way.endsWith(` ${backend ?? ''}`) &&
      [old.reason, now.reason].includes(denying.reason),
  )
}

/**
 * The ways that matched the same requests: the same way, or any way if routes changed; `none` if
 * nothing did.
 */
function counterparts(entry: Entry, from: Ways, to: Ways): readonly (Entry | 'none')[] {
  const doors = doorsBefore(entry, from, to)
  const here = from.entries.filter(({ listener }) => doors.includes(listener))
  const same = here.find(({ key }) => key === entry.key)
  if (matchesAt(from, entry.listener) === matchesAt(to, entry.listener) && same !== undefined) {
    // Backends that only `from` has received a share of the same requests.
    const own = new Set(to.entries.map(({ way }) => way))
    const beside = here.filter(({ match, way }) => match?.id === entry.match?.id && !own.has(way))
    return [...(isSameEntry(same, entry) ? [] : [same]), ...beside]
  }
  // Each provider of a backend is compared with itself, if it exists on both sides.
  const isBeside = ({ way, match, provider }: Entry) =>
    provider !== entry.provider &&
    here.some((one) => one.way === way && one.match === match && one.provider === entry.provider)
  const rest = here.filter(
    (other) => other !== same && !isSameEntry(other, entry) && !isBeside(other),
  )
  const first = same === undefined || isSameEntry(same, entry) ? [] : [same]
  return [...first, ...rest, 'none']
}

function matchesAt({ matches }: Ways, listener: string): string {
  const own = matches.get(listener) ?? []
  return own.map(({ id, condition }) => `${id} ${routeText(condition)}`).join('\n')
}
