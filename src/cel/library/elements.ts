import { equals } from '../values/equal.ts'
import { afford } from '../values/fuel.ts'
import { Ip } from '../values/ip.ts'
import { Double, Uint } from '../values/number.ts'
import type { Value } from '../values/value.ts'

type Key = string | number | bigint | boolean | null

/** Max comparisons per call; a list of lists or maps that needs more is too long. About 50 ms. */
const MAX_COMPARISONS = 1 << 20

/**
 * A set of values with the equality of `==`. Numbers, strings and booleans are hashed; only lists,
 * maps and other objects are compared one by one.
 */
export class Elements {
  readonly #keys = new Set<Key>()
  readonly #others: Value[] = []
  #compared = 0

  /** The cost of adding or looking up an element, in units of fuel. */
  static readonly UNITS = 8

  constructor(values: readonly Value[] = []) {
    for (const value of values) this.add(value)
  }

  add(value: Value): void {
    const key = keyOf(value)
    if (key === undefined) this.#others.push(value)
    else this.#keys.add(key)
  }

  has(value: Value): boolean {
    const key = keyOf(value)
    if (key !== undefined && this.#keys.has(key)) return true
    if (this.#isOneOf(value, this.#others)) return true
    // The string form of an address equals the address.
    return value instanceof Ip && this.#isOneOf(value, this.#keys as Iterable<Value>)
  }

  /** There was too much to compare, so the results of `has` are no longer reliable. */
  get exhausted(): boolean {
    return this.#compared > MAX_COMPARISONS
  }

  #isOneOf(value: Value, others: Iterable<Value>): boolean {
    for (const other of others) {
      if (!afford(3) || ++this.#compared > MAX_COMPARISONS) return false
      if (equals(value, other)) return true
    }
    return false
  }
}

/** Equal numbers of different types share one key; `undefined` for NaN, lists, maps and so on. */
function keyOf(value: Value): Key | undefined {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'bigint':
      return value
    case 'number':
      return numberKey(value)
  }
  if (value === null) return null
  if (value instanceof Double) return numberKey(value.value)
  if (!(value instanceof Uint)) return undefined
  const small = Number(value.value)
  return Number.isSafeInteger(small) ? small : value.value
}

function numberKey(value: number): Key | undefined {
  // NaN equals nothing, not even itself: `equals` handles it.
  if (Number.isNaN(value)) return undefined
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? BigInt(value) : value + 0
}
