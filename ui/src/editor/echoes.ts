/**
 * Texts that an editor reported, and that come back to it as its value when the page is rendered,
 * which may be after more was typed. To set one of these again would undo what was typed since.
 */
export class Echoes {
  #expected: string[] = []

  expect(text: string): void {
    this.#expected.push(text)
  }

  clear(): void {
    this.#expected = []
  }

  /** Whether a value is what the editor has, or had a moment ago; another one is new to it. */
  isEcho(value: string, now: string): boolean {
    const at = this.#expected.indexOf(value)
    this.#expected = at === -1 || value === now ? [] : this.#expected.slice(at + 1)
    return at !== -1 || value === now
  }
}
