import { headerText, isAscii } from '../../exchange/header-text.ts'
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
    if (typeof name !== 'string') return undefined
    const lower = name.toLowerCase()
    const bytes = joinedValue(this.#fields, lower)
    if (bytes === undefined || isAscii(bytes)) return bytes
    return this.all(lower)?.join(lower === 'cookie' ? '; ' : ', ')
  }

  all(name: string): readonly string[] | undefined {
    const lower = name.toLowerCase()
    const lines: string[] = []
    for (let at = findField(this.#fields, lower); at >= 0; ) {
      lines.push(headerText(fieldValue(this.#fields, at)))
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
