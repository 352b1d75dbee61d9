/** The range of two lists between their common start and their common end; ends are exclusive. */
export interface ChangedRange {
  readonly start: number
  /** In the first list. */
  readonly endBefore: number
  /** In the second list. */
  readonly end: number
}

interface Compared {
  readonly before: WeakRef<readonly unknown[]>
  readonly range: ChangedRange
  /** The only indexes within the range that differ, if known. */
  readonly places?: readonly number[]
}

/** Keyed by the second list. */
const compared = new WeakMap<readonly unknown[], Compared>()

/**
 * Compares by identity. In lists of thousands of things usually one differs, and several callers
 * compare the same lists in turn, so the result is cached. `within` is the range if part of it is
 * already known. Compared lists must no longer change.
 */
export function changedRange<T>(
  before: readonly T[],
  now: readonly T[],
  within?: ChangedRange,
): ChangedRange {
  const known = compared.get(now)
  if (known?.before.deref() === before) return known.range
  if (before === now) return { start: now.length, endBefore: now.length, end: now.length }
  const range = find(before, now, within)
  compared.set(now, { before: new WeakRef(before), range })
  return range
}

/**
 * Records that the second list differs from the first only at these indexes, in ascending order:
 * they may be few and far apart.
 */
export function noteReplaced<T>(
  before: readonly T[],
  now: readonly T[],
  places: readonly number[],
): void {
  const [start = now.length] = places
  const end = (places[places.length - 1] ?? now.length - 1) + 1
  compared.set(now, { before: new WeakRef(before), range: { start, endBefore: end, end }, places })
}

/** The indexes that `noteReplaced` recorded for these lists; undefined if unknown. */
export function replacedAt<T>(
  before: readonly T[],
  now: readonly T[],
): readonly number[] | undefined {
  const known = compared.get(now)
  return known?.before.deref() === before ? known.places : undefined
}

/** The list that this one was last compared with, if it still exists. */
export function comparedWith<T>(
  now: readonly T[],
): { readonly before: readonly T[]; readonly range: ChangedRange } | undefined {
  const known = compared.get(now)
  const before = known?.before.deref() as readonly T[] | undefined
  return known === undefined || before === undefined ? undefined : { before, range: known.range }
}

/** The things that only one of the lists has, at any index. */
export function differenceOf<T>(
  before: readonly T[],
  now: readonly T[],
): { readonly gone: ReadonlySet<T>; readonly come: ReadonlySet<T> } {
  const { start, endBefore, end } = changedRange(before, now)
  const old = new Set(before.slice(start, endBefore))
  const young = new Set(now.slice(start, end))
  return { gone: old.difference(young), come: young.difference(old) }
}

/** Returns a copy with some items replaced. `slice` and `toSpliced` are slow on frozen lists. */
export function spliced<T>(
  list: readonly T[],
  start: number,
  count: number,
  added: readonly T[],
): T[] {
  const made = [...list]
  made.splice(start, count, ...added)
  return made
}

function find<T>(
  before: readonly T[],
  now: readonly T[],
  within: ChangedRange = { start: 0, endBefore: before.length, end: now.length },
): ChangedRange {
  let { start, endBefore, end } = within
  while (start < end && start < endBefore && before[start] === now[start]) start++
  // Not `at`, which is ten times slower here.
  while (end > start && endBefore > start && before[endBefore - 1] === now[end - 1]) {
    end--
    endBefore--
  }
  return { start, endBefore, end }
}
