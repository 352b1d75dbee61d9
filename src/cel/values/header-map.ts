import { CelMap } from './map.ts'
import type { Value } from './value.ts'

/** Headers of a message: names are case-insensitive, and a name may have several lines. */
export abstract class HeaderMap extends CelMap {
  /** All lines of the name; `undefined` if there are none. */
  abstract all(name: string): readonly string[] | undefined
}

/** Values by header name. */
export class CaselessMap extends CelMap {
  readonly #values: ReadonlyMap<string, Value>

  /** `values`: keyed by lowercase names. */
  constructor(values: ReadonlyMap<string, Value>) {
    super()
    this.#values = values
  }

  get size(): number {
    return this.#values.size
  }

  get(name: Value): Value | undefined {
    return typeof name === 'string' ? this.#values.get(name.toLowerCase()) : undefined
  }

  keys(): Iterable<string> {
    return this.#values.keys()
  }
}
