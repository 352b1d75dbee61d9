import { fail } from './failure.ts'
import { charge } from './fuel.ts'
import { Double, isInt, Uint } from './number.ts'
import type { Value } from './value.ts'

/** A map that is not a plain object: a literal with any keys, or a view of host data. */
export abstract class CelMap {
  abstract readonly size: number
  /** `undefined` if the key is absent. 1, 1u and 1.0 are the same key. */
  abstract get(key: Value): Value | undefined
  abstract keys(): Iterable<Value>
}

type Key = string | boolean | number | bigint

/** A map written in an expression or built by a macro. */
export class LiteralMap extends CelMap {
  readonly #entries: Map<Key, readonly [key: Value, value: Value]>

  private constructor(entries: Map<Key, readonly [Value, Value]>) {
    super()
    this.#entries = entries
  }

  /** An error if a key occurs twice (1 and 1u are the same key) or is not of a key type. */
  static of(entries: Iterable<readonly [Value, Value]>): LiteralMap | undefined {
    const map = new Map<Key, readonly [Value, Value]>()
    for (const entry of entries) {
      const key = keyOf(entry[0])
      if (key === undefined || isFractional(entry[0])) return fail('unsupported key type')
      if (map.has(key)) return fail('duplicate key', entry[0])
      charge(8)
      map.set(key, entry)
    }
    return new LiteralMap(map)
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: Value): Value | undefined {
    const canonical = keyOf(key)
    return canonical === undefined ? undefined : this.#entries.get(canonical)?.[1]
  }

  *keys(): Iterable<Value> {
    for (const [key] of this.#entries.values()) yield key
  }
}

function isFractional(key: Value): boolean {
  return key instanceof Double || (typeof key === 'number' && !Number.isSafeInteger(key))
}

/** Equal keys of different numeric types share one canonical form. */
function keyOf(key: Value): Key | undefined {
  if (typeof key === 'string' || typeof key === 'boolean' || isInt(key)) return key
  if (key instanceof Uint) return smallest(key.value)
  if (key instanceof Double) return key.value + 0
  if (typeof key === 'number' && Number.isInteger(key)) return smallest(BigInt(key))
  return undefined
}

function smallest(value: bigint): number | bigint {
  const small = Number(value)
  return Number.isSafeInteger(small) ? small : value
}
