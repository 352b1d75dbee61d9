import type { Entry } from './entries.ts'

/** The headers by which rules and routes decide, as their Program says. */
export interface NamesRead {
  /** In lower case. */
  readonly names: ReadonlySet<string>
  /** A rule looks at all of them. */
  readonly all: boolean
}

/** Why such a request is rejected, as the reader of requests says it. */
export const AMBIGUOUS_NAME = '400: ambiguous-header-name'

interface NameChange {
  readonly listener: string
  /** A header that only one of the two rejects. */
  readonly name: string
  /** Ways on which that can be shown. */
  readonly entries: readonly Entry[]
}

/**
 * `headersWithUnderscores: Auto` rejects what backends may take for a header that a rule reads:
 * `x_role` once a rule anywhere reads `x-role`. So a rule changes more than what it decides itself,
 * on every route of the file. Headers that `from` rejects and `to` does not, by listener.
 */
export function nameChanges(
  entries: readonly Entry[],
  from: NamesRead,
  to: NamesRead,
): readonly NameChange[] {
  const changed = rejectedByOne(from, to)
  if (changed.length === 0) return []
  const own = entries.filter(({ match, points: [connection] }) => {
    return match !== undefined && connection?.reading.headersWithUnderscores === 'Auto'
  })
  const byListener = Map.groupBy(own, ({ listener }) => listener)
  return [...byListener].flatMap(([listener, ways]) =>
    changed.map((name) => ({ listener, name, entries: ways })),
  )
}

/** One spelling of each name is enough. */
export function rejectedByOne(from: NamesRead, to: NamesRead): readonly string[] {
  const found = new Map<string, string>()
  const all = [...from.names, ...to.names].flatMap(spellings)
  // A name that no rule has.
  for (const name of [...(from.all ? ['x_other'] : []), ...all]) {
    if (isRejected(name, from) && !isRejected(name, to)) found.set(folded(name), name)
  }
  return [...found.values()]
}

/** As the gateway does (`RequestNames`). */
function isRejected(name: string, { names, all }: NamesRead): boolean {
  if (names.has(name)) return false
  const own = folded(name)
  return [...names].some((one) => folded(one) === own) || (all && name.includes('_'))
}

function folded(name: string): string {
  return name.replaceAll('_', '-')
}

/** With each dash and underscore as the other. */
function spellings(name: string): readonly string[] {
  const [first = '', ...others] = name.split(/[-_]/)
  let found = [first]
  for (const part of others) found = found.flatMap((one) => [`${one}_${part}`, `${one}-${part}`])
  // Names with many parts are few, and nobody mixes them.
  return others.length > 4 ? [name.replaceAll('-', '_'), name.replaceAll('_', '-')] : found
}
