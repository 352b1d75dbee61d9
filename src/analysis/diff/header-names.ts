import type { Entry } from './entries.ts'

/** The headers that rules and routes read, according to their Program. */
export interface NamesRead {
  /** In lowercase. */
  readonly names: ReadonlySet<string>
  /** Whether a rule reads all headers. */
  readonly all: boolean
}

/** The reason that the request reader gives for rejecting such a request. */
export const AMBIGUOUS_NAME = '400: ambiguous-header-name'

interface NameChange {
  readonly listener: string
  /** A header that only one side rejects. */
  readonly name: string
  /** Ways on which an example may show this. */
  readonly entries: readonly Entry[]
}

/**
 * `headersWithUnderscores: Auto` rejects headers that backends may mistake for one that a rule
 * reads: `x_role` once a rule anywhere reads `x-role`. So a rule changes more than what it decides
 * itself, on every route of the file. Returns headers that `from` rejects and `to` does not, by
 * listener.
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
  // A name that no rule contains.
  for (const name of [...(from.all ? ['x_other'] : []), ...all]) {
    if (isRejected(name, from) && !isRejected(name, to)) found.set(folded(name), name)
  }
  return [...found.values()]
}

/** Mirrors the gateway (`RequestNames`). */
function isRejected(name: string, { names, all }: NamesRead): boolean {
  if (names.has(name)) return false
  const own = folded(name)
  return [...names].some((one) => folded(one) === own) || (all && name.includes('_'))
}

function folded(name: string): string {
  return name.replaceAll('_', '-')
}

/** All spellings of a name, with each separator as a dash and as an underscore. */
function spellings(name: string): readonly string[] {
  const [first = '', ...others] = name.split(/[-_]/)
  let found = [first]
  for (const part of others) found = found.flatMap((one) => [`${one}_${part}`, `${one}-${part}`])
  // Names with many parts are rare, and their separators are not mixed in practice.
  return others.length > 4 ? [name.replaceAll('-', '_'), name.replaceAll('_', '-')] : found
}
