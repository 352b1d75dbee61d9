import { type Json, toJson } from '../cel/values/json-write.ts'
import { isPlainObject } from '../cel/values/kind.ts'
import type { Value } from '../cel/values/value.ts'

/** A value as records show it: JSON of bounded length. */
export interface ShownValue {
  readonly value: Json
  /** The value was truncated. */
  readonly isCut: boolean
  /** JSON cannot represent the value exactly; reading it back yields a different value. */
  readonly inexact: boolean
}

const MAX_TEXT = 256
const MAX_MEMBERS = 20
const MAX_DEPTH = 4

export function showValue(value: Value): ShownValue {
  const cutting = { isCut: false }
  const shown = bounded(toJson(value), 0, cutting)
  return { value: shown, isCut: cutting.isCut, inexact: !isJson(value) }
}

/** JSON.stringify writes doubles below this as digits only, which are read back as an int. */
const FIRST_WITH_EXPONENT = 1e21

function isExact(value: number): boolean {
  if (!Number.isFinite(value) || Object.is(value, -0)) return false
  if (Number.isSafeInteger(value) || !Number.isInteger(value)) return true
  return Math.abs(value) >= FIRST_WITH_EXPONENT
}

/** Whether JSON represents the value exactly. */
function isJson(value: Value): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return isExact(value)
    case 'object':
      if (value === null) return true
      if (Array.isArray(value)) return value.every((each) => isJson(each as Value))
      return isPlainObject(value) && Object.values(value).every((each) => isJson(each))
    default:
      return false
  }
}

function bounded(value: Json, depth: number, cutting: { isCut: boolean }): Json {
  if (typeof value === 'string') {
    if (value.length <= MAX_TEXT) return value
    cutting.isCut = true
    return `${value.slice(0, MAX_TEXT)}…`.toWellFormed()
  }
  if (typeof value !== 'object' || value === null) return value
  if (depth === MAX_DEPTH) {
    cutting.isCut = true
    return null
  }
  if (Array.isArray(value)) {
    if (value.length > MAX_MEMBERS) cutting.isCut = true
    return value.slice(0, MAX_MEMBERS).map((each) => bounded(each as Json, depth + 1, cutting))
  }
  const members = Object.entries(value as { readonly [key: string]: Json })
  if (members.length > MAX_MEMBERS) cutting.isCut = true
  return Object.fromEntries(
    members.slice(0, MAX_MEMBERS).map(([name, each]) => [name, bounded(each, depth + 1, cutting)]),
  )
}
