import { DOUBLE, DURATION, DYN, INT, listOf, optionalOf, param, UINT } from '../check/types.ts'
import { compare } from '../values/compare.ts'
import { Duration } from '../values/duration.ts'
import { equals } from '../values/equal.ts'
import { fail } from '../values/failure.ts'
import { afford, charge, MAX_LIST, overBound } from '../values/fuel.ts'
import { typeName } from '../values/kind.ts'
import { double, type Int, Uint } from '../values/number.ts'
import { Optional } from '../values/optional.ts'
import type { Value } from '../values/value.ts'
import { defineLibrary, fn, global, method } from './define.ts'
import { Elements } from './elements.ts'
import { add } from './operators.ts'

type List = readonly Value[]

const A = param('A')
const LIST = listOf(A)
const METERED = { metered: true } as const

/** cel-go's lists extension. `list.sortBy(x, key)` is a macro that calls `@sortByKeys`. */
export const LISTS = defineLibrary('lists', [
  fn('lists.range', global([INT], listOf(INT), range, METERED)),
  fn('slice', method([LIST, INT, INT], LIST, slice, METERED)),
  fn(
    'flatten',
    method([listOf(LIST)], LIST, (list: List) => flatten(list, 1), METERED),
    method([listOf(DYN)], listOf(DYN), (list: List) => flatten(list, 1), METERED),
    method([listOf(DYN), INT], listOf(DYN), flatten, METERED),
  ),
  fn(
    'sort',
    method([LIST], LIST, (list: List) => sortByKeys(list, list), METERED),
  ),
  fn('@sortByKeys', global([LIST, listOf(param('B'))], LIST, sortByKeys, METERED)),
  fn('distinct', method([LIST], LIST, distinct, METERED)),
  fn('reverse', method([LIST], LIST, reverse, METERED)),
  fn(
    'indexOf',
    method([LIST, A], INT, (list: List, value: Value) => placeOf(list, value, 1), METERED),
  ),
  fn(
    'lastIndexOf',
    method([LIST, A], INT, (list: List, value: Value) => placeOf(list, value, -1), METERED),
  ),
  fn(
    'sum',
    ...[INT, UINT, DOUBLE, DURATION].map((type, i) =>
      method([listOf(type)], type, (list: List) => sum(list, ZEROS[i] as Value), METERED),
    ),
  ),
  fn(
    'min',
    method([LIST], A, (list: List) => furthest(list, -1), METERED),
  ),
  fn(
    'max',
    method([LIST], A, (list: List) => furthest(list, 1), METERED),
  ),
  fn(
    'first',
    method([LIST], optionalOf(A), (list: List) => new Optional(list[0])),
  ),
  fn(
    'last',
    method([LIST], optionalOf(A), (list: List) => new Optional(list.at(-1))),
  ),
])

const ZEROS: readonly Value[] = [0, new Uint(0n), double(0), new Duration(0, 0)]

function placeOf(list: List, value: Value, step: 1 | -1): number | undefined {
  if (!afford(4 * list.length)) return undefined
  for (let at = step > 0 ? 0 : list.length - 1; at >= 0 && at < list.length; at += step) {
    if (equals(list[at] as Value, value)) return at
  }
  return -1
}

function sum(list: List, zero: Value): Value | undefined {
  if (!afford(4 * list.length)) return undefined
  let total = list.length === 0 ? zero : list[0]
  if (typeof total === 'string' || Array.isArray(total)) return fail('no such overload')
  for (let at = 1; at < list.length && total !== undefined; at++) {
    total = add(total, list[at] as Value)
  }
  return total
}

/** An error if the list is empty or two elements have no order. */
function furthest(list: List, sign: 1 | -1): Value | undefined {
  if (!afford(4 * list.length)) return undefined
  let [found] = list
  if (found === undefined) return fail('the list is empty')
  for (const value of list) {
    const order = compare(value, found)
    if (order === undefined || Number.isNaN(order))
      return fail('values cannot be ordered', typeName(value))
    if (sign * order > 0) found = value
  }
  return found
}

function range(size: Int): List | undefined {
  if (size < 0) return fail('negative size', size)
  if (size > MAX_LIST) return overBound('list too long', size)
  if (!afford(2 * Number(size))) return undefined
  return Array.from({ length: Number(size) }, (_, i) => i)
}

function slice(list: List, start: Int, end: Int): List | undefined {
  if (start < 0 || end > list.length) return fail('index out of range', start < 0 ? start : end)
  if (start > end) return fail('invalid slice range', `start ${start}, end ${end}`)
  charge((Number(end) - Number(start)) >> 2)
  return list.slice(Number(start), Number(end))
}

/** Lists inside the list are replaced by their elements, `depth` levels deep. */
function flatten(list: List, depth: Int): List | undefined {
  if (depth < 0) return fail('negative depth', depth)
  const flat: Value[] = []
  const open = [{ list, at: 0 }]
  for (let level = open.at(-1); level !== undefined; level = open.at(-1)) {
    const value = level.list[level.at++]
    if (!afford(3)) return undefined
    if (value === undefined) open.pop()
    else if (Array.isArray(value) && open.length <= depth) open.push({ list: value, at: 0 })
    else if (flat.push(value) > MAX_LIST) return overBound('list too long')
  }
  return flat
}

/** Sorts by the keys, one per element, all of one type that has an order. */
function sortByKeys(list: List, keys: List): List | undefined {
  const [first] = keys
  if (first === undefined || keys.length !== list.length) return list
  const type = typeName(first)
  if (compare(first, first) === undefined) return fail('values cannot be ordered', type)
  if (keys.some((key) => typeName(key) !== type)) return fail('keys of different types')
  if (!afford(4 * list.length * (33 - Math.clz32(list.length)))) return undefined
  const places = list.map((_, place) => place)
  // If a key is NaN, there is no order to preserve.
  places.sort((a, b) => compare(keys[a] as Value, keys[b] as Value) || 0)
  return places.map((place) => list[place] as Value)
}

/** Keeps the first of equal elements. */
function distinct(list: List): List | undefined {
  if (!afford(Elements.UNITS * list.length)) return undefined
  const elements = new Elements()
  const kept = list.filter((value) => {
    if (elements.has(value)) return false
    elements.add(value)
    return true
  })
  return elements.exhausted ? overBound('list too long') : kept
}

function reverse(list: List): List {
  charge(list.length >> 2)
  return list.toReversed()
}
