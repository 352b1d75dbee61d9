import { changedRange, replacedAt } from '../model/changed-range.ts'
import { LayeredMap } from '../model/layered-map.ts'

/** Items in order, each with the names of backends that it mentions. */
type Mentioning = readonly { readonly mentions: readonly string[] }[]

/** Names of backends → positions of the items that mention them, in ascending order. */
type Index = LayeredMap<readonly number[]>

const indexes = new WeakMap<Mentioning, Index>()

/** Updating an index that changes more is as much work as building a new one. */
const MAX_AT_ONCE = 100

/** The positions of the items that mention any of these backends, in ascending order. */
export function placesMentioning(list: Mentioning, names: ReadonlySet<string>): readonly number[] {
  if (names.size === 0) return []
  const index = indexes.get(list) ?? indexOf(list)
  indexes.set(list, index)
  const places = new Set<number>()
  for (const name of names) for (const place of index.get(name) ?? []) places.add(place)
  return [...places].sort((a, b) => a - b)
}

/** Reuses the index of the previous list if items were only replaced. */
export function carryMentions(before: Mentioning, now: Mentioning): void {
  const known = indexes.get(before)
  if (known === undefined || before === now || before.length !== now.length) return
  const { start, end } = changedRange(before, now)
  const replaced = replacedAt(before, now)
  if ((replaced?.length ?? end - start) > MAX_AT_ONCE) return
  const places = replaced ?? Array.from({ length: end - start }, (_, at) => start + at)
  const lists = new Map<string, readonly number[]>()
  const placesOf = (name: string) => lists.get(name) ?? known.get(name) ?? []
  for (const place of places) {
    const [old, young] = [mentionsAt(before, place), mentionsAt(now, place)]
    for (const name of old) {
      if (young.includes(name)) continue
      lists.set(
        name,
        placesOf(name).filter((one) => one !== place),
      )
    }
    for (const name of young) {
      if (!old.includes(name)) lists.set(name, [...placesOf(name), place])
    }
  }
  indexes.set(now, lists.size === 0 ? known : known.with(lists))
}

function indexOf(list: Mentioning): Index {
  const places = new Map<string, number[]>()
  // Counted loops: there may be thousands.
  for (let i = 0; i < list.length; i++) {
    const mentions = mentionsAt(list, i)
    for (let m = 0; m < mentions.length; m++) {
      const own = places.get(mentions[m] as string)
      if (own === undefined) places.set(mentions[m] as string, [i])
      else own.push(i)
    }
  }
  return LayeredMap.of(places)
}

function mentionsAt(list: Mentioning, place: number): readonly string[] {
  return (list[place] as Mentioning[number]).mentions
}
