/** What is left of two lists without the same things at both ends; ends are exclusive. */
export interface ChangedRange {
  readonly start: number
  /** Of the first list. */
  readonly endBefore: number
  /** Of the second one. */
  readonly end: number
}

interface Compared {
  readonly before: WeakRef<readonly unknown[]>
  readonly range: ChangedRange
  /** The only places within it that differ, where that is known. */
  readonly places?: readonly number[]
}

/** By the second list. */
const compared = new WeakMap<readonly unknown[], Compared>()

/**
 * By identity. Of lists with thousands of things mostly one is different, and several look for it
 * one after the other: it is found once. `within`: what is known of it already. Lists that were
 * compared must not change any more.
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
 * Says that the second list has other things than the first at these places alone, in ascending
 * order: they may be few and far apart.
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

/** The places that `noteReplaced` was told of these lists; undefined: they are not known. */
export function replacedAt<T>(
  before: readonly T[],
  now: readonly T[],
): readonly number[] | undefined {
  const known = compared.get(now)
  return known?.before.deref() === before ? known.places : undefined
}

/** The list that this one was compared with last, if it is still there. */
export function comparedWith<T>(
  now: readonly T[],
): { readonly before: readonly T[]; readonly range: ChangedRange } | undefined {
  const known = compared.get(now)
  const before = known?.before.deref() as readonly T[] | undefined
  return known === undefined || before === undefined ? undefined : { before, range: known.range }
}

/** Things that the one list has and the other has not, wherever they are. */
export function differenceOf<T>(
  before: readonly T[],
  now: readonly T[],
): { readonly gone: ReadonlySet<T>; readonly come: ReadonlySet<T> } {
  const { start, endBefore, end } = changedRange(before, now)
  const old = new Set(before.slice(start, endBefore))
  const young = new Set(now.slice(start, end))
  return { gone: old.difference(young), come: young.difference(old) }
}

/** A copy with these in place of others. Neither `slice` nor `toSpliced` is quick if a list is frozen. */
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
  // No `at`, which is ten times as slow here.
  while (end > start && endBefore > start && before[endBefore - 1] === now[end - 1]) {
    end--
    endBefore--
  }
  return { start, endBefore, end }
}
