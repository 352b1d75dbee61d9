import { charge, MAX_LIST, MAX_STRING, overBound } from '../values/fuel.ts'
import type { Value } from '../values/value.ts'

// `+` on values that have a length. This is the only way in the standard functions to build a
// larger value from smaller ones, so the limit is checked before anything is allocated.

export function addStrings(a: string, b: string): string | undefined {
  const length = a.length + b.length
  charge(length >> 4)
  return length > MAX_STRING ? overBound('string too long') : a + b
}

export function addBytes(a: Uint8Array, b: Uint8Array): Uint8Array | undefined {
  const length = a.length + b.length
  charge(length >> 4)
  if (length > MAX_STRING) return overBound('bytes too long')
  const sum = new Uint8Array(length)
  sum.set(a)
  sum.set(b, a.length)
  return sum
}

export function addLists(a: readonly Value[], b: readonly Value[]): readonly Value[] | undefined {
  const length = a.length + b.length
  charge(length >> 1)
  return length > MAX_LIST ? overBound('list too long') : a.concat(b)
}
