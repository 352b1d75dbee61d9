import { type Json, toJson } from '../cel/values/json-write.ts'
import type { Value } from '../cel/values/value.ts'

/** A value as records show it: JSON, and not longer than anybody reads. */
export interface ShownValue {
  readonly value: Json
  /** There is more of it. */
  readonly isCut: boolean
}

const LONGEST_TEXT = 256
const MOST_MEMBERS = 20
const DEEPEST = 4

export function showValue(value: Value): ShownValue {
  const cutting = { isCut: false }
  return { value: bounded(toJson(value), 0, cutting), isCut: cutting.isCut }
}

function bounded(value: Json, depth: number, cutting: { isCut: boolean }): Json {
  if (typeof value === 'string') {
    if (value.length <= LONGEST_TEXT) return value
    cutting.isCut = true
    return `${value.slice(0, LONGEST_TEXT)}…`.toWellFormed()
  }
  if (typeof value !== 'object' || value === null) return value
  if (depth === DEEPEST) {
    cutting.isCut = true
    return null
  }
  if (Array.isArray(value)) {
    if (value.length > MOST_MEMBERS) cutting.isCut = true
    return value.slice(0, MOST_MEMBERS).map((each) => bounded(each as Json, depth + 1, cutting))
  }
  const members = Object.entries(value as { readonly [key: string]: Json })
  if (members.length > MOST_MEMBERS) cutting.isCut = true
  return Object.fromEntries(
    members.slice(0, MOST_MEMBERS).map(([name, each]) => [name, bounded(each, depth + 1, cutting)]),
  )
}
