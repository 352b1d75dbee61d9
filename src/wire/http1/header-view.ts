import { HeaderView } from '../../exchange/header-view.ts'
import { HIDDEN } from './field-names.ts'
import { type Fields, fieldName, fieldValue, findField, joinedValue } from './fields.ts'

/** Headers as rules read them, decoded lazily. Valid as long as the head is. */
export class Http1Headers extends HeaderView {
  readonly #fields: Fields

  constructor(fields: Fields) {
    super()
    this.#fields = fields
  }

  get size(): number {
    return [...this.keys()].length
  }

  get(name: unknown): string | undefined {
    return typeof name === 'string' ? joinedValue(this.#fields, name.toLowerCase()) : undefined
  }

  all(name: string): readonly string[] | undefined {
    const lower = name.toLowerCase()
    const lines: string[] = []
    for (let at = findField(this.#fields, lower); at >= 0; ) {
      lines.push(fieldValue(this.#fields, at))
      at = findField(this.#fields, lower, at + 1)
    }
    return lines.length === 0 ? undefined : lines
  }

  *keys(): Iterable<string> {
    const seen = new Set<string>()
    for (let i = 0; i < this.#fields.count; i++) {
      if (this.#fields.kinds[i] === HIDDEN) continue
      const name = fieldName(this.#fields, i).toLowerCase()
      if (!seen.has(name)) yield name
      seen.add(name)
    }
  }
}
