/**
 * JSON read without JSON.parse, for texts whose member names hold escapes.
 *
 * V8 (seen in Node 26.10) remembers the names that followed a member in earlier objects and takes
 * a name for such a one when the raw text begins alike: once `{"a":1,"\\":2}` was parsed, the
 * second name of `{"a":1,"\u0062":2}` comes out as a backslash. Whoever can have one text parsed
 * could so change the names of another's claims.
 *
 * Slow and strict; undefined where the text is no JSON. Depth is the caller's to bound.
 */
export function parsePlainJson(text: string, number: (source: string) => unknown): unknown {
  const reader = new PlainReader(text, number)
  const value = reader.value()
  return reader.isDone() ? value : undefined
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const WORD = /true|false|null/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON allows none in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const BLANK = /[ \t\n\r]*/y

class PlainReader {
  readonly #text: string
  readonly #number: (source: string) => unknown
  #at = 0
  #failed = false

  constructor(text: string, number: (source: string) => unknown) {
    this.#text = text
    this.#number = number
  }

  isDone(): boolean {
    this.#match(BLANK)
    return !this.#failed && this.#at === this.#text.length
  }

  value(): unknown {
    this.#match(BLANK)
    switch (this.#text[this.#at]) {
      case '{':
        return this.#object()
      case '[':
        return this.#list()
      case '"':
        return this.#string()
      default: {
        const word = this.#match(WORD)
        if (word !== undefined) return JSON.parse(word)
        const source = this.#match(NUMBER)
        return source === undefined ? this.#fail() : this.#number(source)
      }
    }
  }

  #object(): unknown {
    const members: [string, unknown][] = []
    this.#at++
    if (this.#take('}')) return {}
    do {
      this.#match(BLANK)
      const name = this.#string()
      if (name === undefined || !this.#take(':')) return this.#fail()
      members.push([name, this.value()])
      if (this.#failed) return undefined
    } while (this.#take(','))
    return this.#take('}') ? Object.fromEntries(members) : this.#fail()
  }

  #list(): unknown {
    const elements: unknown[] = []
    this.#at++
    if (this.#take(']')) return elements
    do {
      elements.push(this.value())
      if (this.#failed) return undefined
    } while (this.#take(','))
    return this.#take(']') ? elements : this.#fail()
  }

  /** A string alone has no names that could be mistaken. */
  #string(): string | undefined {
    const source = this.#match(STRING)
    return source === undefined ? this.#fail() : (JSON.parse(source) as string)
  }

  #take(mark: string): boolean {
    this.#match(BLANK)
    if (this.#text[this.#at] !== mark) return false
    this.#at++
    return true
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found === undefined) return undefined
    this.#at += found.length
    return found
  }

  #fail(): undefined {
    this.#failed = true
    return undefined
  }
}
