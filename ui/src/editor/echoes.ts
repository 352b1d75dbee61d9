/**
 * Texts that an editor reported and that come back as its value when the page renders, possibly
 * after the user has typed more. Setting one of them again would undo the later input.
 */
export class Echoes {
  #expected: string[] = []

  expect(text: string): void {
    this.#expected.push(text)
  }

  clear(): void {
    this.#expected = []
  }

  /** Whether the editor has this value now or had it a moment ago; any other value is new. */
  isEcho(value: string, now: string): boolean {
    const at = this.#expected.indexOf(value)
    this.#expected = at === -1 || value === now ? [] : this.#expected.slice(at + 1)
    return at !== -1 || value === now
  }
}
