import { CelMap } from './map.ts'
import type { Value } from './value.ts'

/** Headers of a message: names have no case, and a name may have several lines. */
export abstract class HeaderMap extends CelMap {
  /** Each line of the name, undefined where there is none. */
  abstract all(name: string): readonly string[] | undefined
}

/** Values by the names of headers. */
export class CaselessMap extends CelMap {
  readonly #values: ReadonlyMap<string, Value>

  /** `values`: by names in lower case. */
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
