import { HeaderView } from './header-view.ts'

/** Headers that came from no wire: of a request that somebody describes. */
export class PlainHeaders extends HeaderView {
  readonly #headers = new Map<string, string>()
  readonly #lines = new Map<string, string[]>()

  /** Values of one name join, as those of a request do. */
  constructor(headers: Iterable<readonly [name: string, value: string]>) {
    super()
    for (const [written, value] of headers) {
      const name = written.toLowerCase()
      const known = this.#headers.get(name)
      const joint = name === 'cookie' ? '; ' : ', '
      this.#headers.set(name, known === undefined ? value : `${known}${joint}${value}`)
      this.#lines.set(name, [...(this.#lines.get(name) ?? []), value])
    }
  }

  get size(): number {
    return this.#headers.size
  }

  get(name: unknown): string | undefined {
    return typeof name === 'string' ? this.#headers.get(name.toLowerCase()) : undefined
  }

  all(name: string): readonly string[] | undefined {
    return this.#lines.get(name.toLowerCase())
  }

  keys(): Iterable<string> {
    return this.#headers.keys()
  }
}
