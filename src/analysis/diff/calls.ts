import { canonicalJson } from '../../model/json.ts'
import type { Decide, Difference, SemanticDiff, Untold } from './difference.ts'
import { type Entry, isSameEntry, type Ways } from './entries.ts'
import { type Searched, search, searchBeyond } from './search.ts'
import { servicesCalled } from './services.ts'

/** What clients call by name, with one Entry each, under keys that are the same in both Models. */
export interface Calls {
  readonly ways: Ways
  readonly calls: ReadonlyMap<string, Entry>
}

/**
 * Other calls of the old configuration that may have been the same request: it was admitted if one
 * of them admits it.
 */
export type BesideOf = (entry: Entry, calls: readonly Entry[]) => readonly Entry[]

/**
 * The calls that both configurations have and that only one of them admits, and for which clients.
 * `about` names the call of an Entry for messages about unknown results.
 */
export function compareCalls(
  before: Calls,
  after: Calls,
  decide: { readonly old: Decide; readonly now: Decide },
  about: (entry: Entry) => string,
  besideOf?: BesideOf,
): SemanticDiff {
  const all = [
    ...changes(before, after, 'admitted', [decide.old, decide.now], about, besideOf),
    ...changes(after, before, 'refused', [decide.now, decide.old], about, besideOf),
  ]
  const differences = all.flatMap((one) => ('example' in one ? [one] : []))
  return {
    differences,
    untold: withoutShown(
      all.flatMap((one) => ('why' in one ? [one] : [])),
      differences,
    ),
  }
}

function* changes(
  from: Calls,
  to: Calls,
  kind: Difference['kind'],
  [decideFrom, decideTo]: readonly [Decide, Decide],
  about: (entry: Entry) => string,
  besideOf: BesideOf = () => [],
): Generator<Difference | Untold> {
  const sides = { from: from.ways, to: to.ways, decideFrom, decideTo }
  const seen = new Set<string>()
  for (const [key, entry] of to.calls) {
    const other = from.calls.get(key)
    if (other !== undefined && isSameEntry(entry, other)) continue
    const own = other === undefined ? undefined : search(entry, other, sides)
    const isDone = own !== undefined && own.untold === undefined
    const beside = isDone ? [] : besideOf(entry, [...from.calls.values()])
    if (own === undefined && beside.length === 0) continue
    // The same call may be served by another provider.
    const all = beside.length === 0 ? undefined : searchBeyond(entry, beside, sides)
    const { examples, untold } = best(own, all)
    const { listener, route, backend, provider } = entry
    const place = { kind, listener, route, backend, provider }
    for (const { example, denying, admitting, isOverLimit } of examples) {
      const name = `${example.message?.about} ${denying.reason} ${canonicalJson(example.identity)}`
      if (seen.has(`${listener} ${route} ${name}`)) continue
      seen.add(`${listener} ${route} ${name}`)
      const [old, now] = kind === 'admitted' ? [denying, admitting] : [admitting, denying]
      const limited = isOverLimit === undefined ? {} : { isOverLimit }
      yield { ...place, example, old, now, ...servicesCalled(entry), ...limited }
    }
    if (untold !== undefined)
      yield { kind, listener, route, why: `${about(entry)}: ${untold}`, ...followUp(entry) }
  }
}

/** What a call stores has no example of its own, and follows the rules of the call. */
export function followUp({ form }: Entry): Pick<Untold, 'isFollowUp'> {
  return form?.name === 'stored' ? { isFollowUp: true } : {}
}

/** Without what follows a difference that is reported for the same place. */
export function withoutShown(
  untold: readonly Untold[],
  differences: readonly Difference[],
): readonly Untold[] {
  return untold.flatMap(({ isFollowUp, ...one }) => {
    const isShown = differences.some(
      ({ kind, listener, route }) =>
        kind === one.kind && listener === one.listener && route === one.route,
    )
    return isFollowUp === true && isShown ? [] : [one]
  })
}

function best(own: Searched | undefined, all: Searched | undefined): Searched {
  if (own === undefined || all === undefined) return own ?? all ?? { examples: [] }
  if (own.examples.length > 0) return all.untold === undefined ? { examples: own.examples } : own
  return all.untold === undefined ? all : own
}
