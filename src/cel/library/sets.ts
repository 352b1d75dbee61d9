import { BOOL, listOf, param } from '../check/types.ts'
import { afford, overBound } from '../values/fuel.ts'
import type { Value } from '../values/value.ts'
import { defineLibrary, type FunctionDeclaration, fn, global } from './define.ts'
import { Elements } from './elements.ts'

type List = readonly Value[]

const LIST = listOf(param('A'))

/** cel-go's sets extension: lists as sets, ignoring order and duplicates. */
export const SETS = defineLibrary('sets', [
  ofLists('sets.contains', contains),
  ofLists('sets.intersects', intersects),
  ofLists('sets.equivalent', (a, b) => contains(a, b) && contains(b, a)),
])

function ofLists(
  name: string,
  call: (a: List, b: List) => boolean | undefined,
): FunctionDeclaration {
  return fn(name, global([LIST, LIST], BOOL, call, { metered: true }))
}

function contains(list: List, part: List): boolean | undefined {
  if (!afford(Elements.UNITS * (list.length + part.length))) return undefined
  const elements = new Elements(list)
  const all = part.every((value) => elements.has(value))
  return elements.exhausted ? overBound('list too long') : all
}

function intersects(a: List, b: List): boolean | undefined {
  if (!afford(Elements.UNITS * (a.length + b.length))) return undefined
  const elements = new Elements(a)
  const some = b.some((value) => elements.has(value))
  return elements.exhausted ? overBound('list too long') : some
}
