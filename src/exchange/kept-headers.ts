import type { HeaderEdit } from './header-edit.ts'
import { HeaderView } from './header-view.ts'

/** Response headers for log expressions, which run long after the head is gone. */
export class KeptHeaders extends HeaderView {
  readonly #values = new Map<string, string>()
  readonly #lines = new Map<string, readonly string[]>()

  /** As sent to the client: the headers of the backend, if it responded, with the edit applied. */
  constructor(upstream: HeaderView | undefined, edit: HeaderEdit) {
    super()
    for (const name of upstream?.keys() ?? []) {
      this.#set(name, upstream?.get(name), upstream?.all(name) ?? [])
    }
    for (const name of edit.removed) {
      this.#values.delete(name)
      this.#lines.delete(name)
    }
    for (const [name, value] of edit.added) {
      const known = this.get(name)
      const lines = [...(this.all(name) ?? []), value]
      this.#set(name, known === undefined ? value : `${known}, ${value}`, lines)
    }
  }

  get size(): number {
    return this.#values.size
  }

  get(name: unknown): string | undefined {
    return typeof name === 'string' ? this.#values.get(name.toLowerCase()) : undefined
  }

  all(name: string): readonly string[] | undefined {
    return this.#lines.get(name.toLowerCase())
  }

  keys(): Iterable<string> {
    return this.#values.keys()
  }

  set(name: string, value: string | undefined): void {
    if (value !== undefined) this.#set(name, value, [value])
  }

  #set(name: string, value: string | undefined, lines: readonly string[]): void {
    if (value === undefined) return
    this.#values.set(name.toLowerCase(), value)
    this.#lines.set(name.toLowerCase(), lines)
  }
}
