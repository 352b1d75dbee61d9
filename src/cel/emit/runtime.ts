import type { Overload } from '../library/define.ts'
import { dispatch } from '../library/dispatch.ts'
import * as operators from '../library/operators.ts'
import { equals } from '../values/equal.ts'
import { fail } from '../values/failure.ts'
import { charge, MAX_LIST, overBound } from '../values/fuel.ts'
import { isPlainObject, keysOf } from '../values/kind.ts'
import { CelMap, LiteralMap } from '../values/map.ts'
import { Optional } from '../values/optional.ts'
import { beginsWith, finishesWith, holdsText, isAmong, isSameText } from '../values/text-search.ts'
import type { Value } from '../values/value.ts'

/**
 * The functions that both back ends call. If an argument is undefined (CEL's error), so is the
 * result, unless noted otherwise.
 */

type Maybe = Value | undefined

export function getField(operand: Maybe, field: string): Maybe {
  return operand === undefined ? undefined : operators.select(operand, field)
}

/** A header, from the host's view or from a map with lowercase names. */
export function getHeader(headers: Maybe, name: string): Maybe {
  if (headers instanceof CelMap) return headers.get(name)
  if (headers === undefined || !Object.hasOwn(headers as object, name)) return undefined
  return (headers as { readonly [name: string]: Value })[name]
}

/** `operand.?field`, or `operand.field` of an optional: none if the field is absent. */
export function optField(operand: Maybe, field: string): Maybe {
  return operand === undefined ? undefined : operators.optionalSelect(operand, field)
}

export function testField(operand: Maybe, field: string): boolean | undefined {
  return operand === undefined ? undefined : operators.hasField(operand, field)
}

export function getIndex(operand: Maybe, key: Maybe): Maybe {
  return operand === undefined || key === undefined ? undefined : operators.index(operand, key)
}

/** `operand[?key]`: none if the key is absent; an error if the operand has no elements. */
export function optIndex(operand: Maybe, key: Maybe): Maybe {
  if (operand === undefined || key === undefined) return undefined
  return operators.optionalIndex(operand, key)
}

export function isEqual(a: Maybe, b: Maybe): boolean | undefined {
  return a === undefined || b === undefined ? undefined : equals(a, b)
}

export function isMember(element: Maybe, container: Maybe): boolean | undefined {
  return element === undefined || container === undefined
    ? undefined
    : operators.isIn(element, container)
}

export function call(overloads: readonly Overload[], ...args: Maybe[]): Maybe {
  if (args.includes(undefined)) return undefined
  return dispatch(overloads, args as Value[])
}

/** Builds a list literal; `optional`, if present, has a flag for each element. */
export function makeList(values: readonly Maybe[], optional?: readonly boolean[]): Maybe {
  const list: Value[] = []
  for (const [i, value] of values.entries()) {
    if (value === undefined) return undefined
    if (!optional?.[i]) list.push(value)
    else if (!(value instanceof Optional)) return fail('no such overload')
    else if (value.value !== undefined) list.push(value.value)
  }
  return list
}

/** Builds a map literal from alternating keys and values. */
export function makeMap(parts: readonly Maybe[], optional?: readonly boolean[]): Maybe {
  const entries: [Value, Value][] = []
  for (let i = 0; i < parts.length; i += 2) {
    const [key, value] = [parts[i], parts[i + 1]]
    if (key === undefined || value === undefined) return undefined
    if (!optional?.[i >> 1]) entries.push([key, value])
    else if (!(value instanceof Optional)) return fail('no such overload')
    else if (value.value !== undefined) entries.push([key, value.value])
  }
  return LiteralMap.of(entries)
}

/** What a macro loops over: the elements of a list, or the keys of a map. */
export function elementsOf(range: Maybe): readonly Value[] | undefined {
  if (range === undefined) return undefined
  if (Array.isArray(range)) return range
  if (range instanceof CelMap) return [...range.keys()]
  return isPlainObject(range) ? keysOf(range) : fail('no such overload')
}

/** The second variable of a macro: the element of a list, or the value for a map's key. */
export function secondOf(range: Value, elements: readonly Value[], i: number): Maybe {
  return Array.isArray(range) ? elements[i] : operators.index(range, elements[i] as Value)
}

export function firstOf(range: Value, elements: readonly Value[], i: number): Value {
  return Array.isArray(range) ? i : (elements[i] as Value)
}

/** Appends to a list that a macro builds; false if the list has reached its max size. */
export function grow(list: Value[], value: Value): boolean {
  if (list.length >= MAX_LIST) {
    overBound('list too long')
    return false
  }
  charge(1)
  list.push(value)
  return true
}

/**
 * Adds the entries of the map that the body of transformMapEntry returns: usually one, but none or
 * several are allowed too.
 */
export function addEntries(entries: [Value, Value][], made: Maybe): boolean {
  if (made === undefined) return false
  if (!(made instanceof CelMap) && !isPlainObject(made)) {
    fail('transformMapEntry requires a map')
    return false
  }
  const keys = made instanceof CelMap ? made.keys() : Object.keys(made)
  for (const key of keys) {
    if (!grow(entries as Value[], [key, operators.index(made, key) as Value])) return false
  }
  return true
}

export function endMap(entries: [Value, Value][]): Maybe {
  return LiteralMap.of(entries)
}

/** The result of optMap. */
export function some(value: Maybe): Maybe {
  return value === undefined ? undefined : new Optional(value)
}

/** The result of optFlatMap. */
export function flat(value: Maybe): Maybe {
  return value === undefined || value instanceof Optional ? value : fail('no such overload')
}

/** Whether a list contains a string. */
export function hasText(list: readonly Value[], text: string): boolean {
  charge(list.length >> 2)
  return isAmong(text, list)
}

/** Reads a variable whose name every object inherits. */
export function own(variables: { readonly [name: string]: Maybe }, name: string): Maybe {
  return Object.hasOwn(variables, name) ? variables[name] : undefined
}

export { beginsWith, equals, finishesWith, holdsText, isSameText }
