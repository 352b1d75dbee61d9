import { canonicalJson } from '../../model/json.ts'
import type { Decide, Difference, SemanticDiff, Untold } from './difference.ts'
import { type Entry, isSameEntry, type Ways } from './entries.ts'
import { search } from './search.ts'
import { servicesCalled } from './services.ts'

/** What clients call by name, with one Entry each, under keys that are the same in both Models. */
export interface Calls {
  readonly ways: Ways
  readonly calls: ReadonlyMap<string, Entry>
}

/**
 * The calls that both configurations have and that only one of them admits, and for which clients.
 * `about` names the call of an Entry for messages about unknown results.
 */
export function compareCalls(
  before: Calls,
  after: Calls,
  decide: { readonly old: Decide; readonly now: Decide },
  about: (entry: Entry) => string,
): SemanticDiff {
  const all = [
    ...changes(before, after, 'admitted', [decide.old, decide.now], about),
    ...changes(after, before, 'refused', [decide.now, decide.old], about),
  ]
  return {
    differences: all.flatMap((one) => ('example' in one ? [one] : [])),
    untold: all.flatMap((one) => ('why' in one ? [one] : [])),
  }
}

function* changes(
  from: Calls,
  to: Calls,
  kind: Difference['kind'],
  [decideFrom, decideTo]: readonly [Decide, Decide],
  about: (entry: Entry) => string,
): Generator<Difference | Untold> {
  const sides = { from: from.ways, to: to.ways, decideFrom, decideTo }
  const seen = new Set<string>()
  for (const [key, entry] of to.calls) {
    const other = from.calls.get(key)
    if (other === undefined || isSameEntry(entry, other)) continue
    const { examples, untold } = search(entry, other, sides)
    const { listener, route, backend, provider } = entry
    const place = { kind, listener, route, backend, provider }
    for (const { example, denying, admitting } of examples) {
      const name = `${example.message?.about} ${denying.reason} ${canonicalJson(example.identity)}`
      if (seen.has(`${listener} ${route} ${name}`)) continue
      seen.add(`${listener} ${route} ${name}`)
      const [old, now] = kind === 'admitted' ? [denying, admitting] : [admitting, denying]
      yield { ...place, example, old, now, ...servicesCalled(entry) }
    }
    if (untold !== undefined) yield { kind, listener, route, why: `${about(entry)}: ${untold}` }
  }
}
