import { HeaderView } from './header-view.ts'

/** Headers of a hypothetical request that was not received over the wire. */
export class PlainHeaders extends HeaderView {
  readonly #headers = new Map<string, string>()
  readonly #lines = new Map<string, string[]>()

  /** Values with the same name are joined, like those of a received request. */
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
