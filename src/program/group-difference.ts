import { changedRange, replacedAt } from '../model/changed-range.ts'
import type { MatchEntry } from './match.ts'

/** Entries in order, grouped by route. */
export type Groups<T> = readonly { readonly entries: readonly MatchEntry<T>[] }[]

/** So few at once do not delay other work. */
const MAX_AT_ONCE = 100

/** Groups that are in only one of the two lists, in order. */
export interface Difference<T> {
  readonly gone: Groups<T>
  readonly come: Groups<T>
}

export function isMost<T>({ gone, come }: Difference<T>, length: number): boolean {
  const changed = Math.max(gone.length, come.length)
  return changed > MAX_AT_ONCE && 2 * changed > length
}

/** Groups that moved among the others count as both removed and added. */
export function groupsBetween<T>(before: Groups<T>, now: Groups<T>): Difference<T> {
  const places = replacedAt(before, now)
  if (places !== undefined) return groupsAt({ gone: before, come: now }, places)
  const { start, endBefore, end } = changedRange(before, now)
  const all = { gone: before.slice(start, endBefore), come: now.slice(start, end) }
  if (all.gone.length < 2 || all.come.length < 2) return all
  return replacedGroups(all) ?? otherGroups(all)
}

/** If few groups were replaced in place, such as the routes of a changed backend. */
function replacedGroups<T>({ gone, come }: Difference<T>): Difference<T> | undefined {
  if (gone.length !== come.length) return undefined
  const at: number[] = []
  for (let i = 0; i < gone.length; i++) if (gone[i] !== come[i]) at.push(i)
  if (4 * at.length > gone.length) return undefined
  return groupsAt({ gone, come }, at)
}

function groupsAt<T>({ gone, come }: Difference<T>, at: readonly number[]): Difference<T> {
  const pick = (groups: Groups<T>) => at.map((index) => groups[index] as Groups<T>[number])
  return { gone: pick(gone), come: pick(come) }
}

/** If groups were added, removed or moved. */
function otherGroups<T>(all: Difference<T>): Difference<T> {
  const [old, young] = [new Set(all.gone), new Set(all.come)]
  const others = new Set<Groups<T>[number]>()
  for (let i = 0, j = 0; i < all.gone.length || j < all.come.length; ) {
    const [a, b] = [all.gone[i], all.come[j]]
    if (a === b) {
      i++
      j++
    } else if (a !== undefined && (others.has(a) || !young.has(a))) {
      others.add(a)
      i++
    } else if (b !== undefined && (others.has(b) || !old.has(b))) {
      others.add(b)
      j++
    } else if (b !== undefined && (a === undefined || all.come[j + 1] === a)) {
      others.add(b)
      j++
    } else if (a !== undefined) {
      others.add(a)
      i++
    }
  }
  return {
    gone: all.gone.filter((group) => others.has(group)),
    come: all.come.filter((group) => others.has(group)),
  }
}
