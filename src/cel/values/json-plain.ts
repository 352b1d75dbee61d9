/**
 * Reads JSON without JSON.parse, for input that JSON.parse would read incorrectly or too slowly.
 *
 * V8 (observed in Node 26.10) remembers the names that followed a member in earlier objects and
 * reuses such a name if the raw text begins alike: once `{"a":1,"\\":2}` has been parsed, the
 * second name of `{"a":1,"\u0062":2}` is read as a backslash. A client that can have one document
 * parsed could thus change the names of another client's claims. In addition, exposing the digits
 * of a number that a double cannot represent costs JSON.parse ten times the parsing.
 *
 * Strict; `undefined` if the text is not JSON. The caller must limit the depth.
 */
export function parsePlainJson(text: string, number: (source: string) => unknown): unknown {
  const reader = new PlainReader(text, number)
  const value = reader.value()
  return reader.isDone() ? value : undefined
}

const QUOTE = 34
const COMMA = 44
const MINUS = 45
const DOT = 46
const ZERO = 48
const NINE = 57
const COLON = 58
const OPEN_LIST = 91
const BACKSLASH = 92
const CLOSE_LIST = 93
const OPEN_OBJECT = 123
const CLOSE_OBJECT = 125

/** Strings up to this length are scanned one character at a time, longer ones by the engine. */
const SHORT = 64

class PlainReader {
  readonly #text: string
  readonly #number: (source: string) => unknown
  #at = 0
  #slash = -1
  #failed = false

  constructor(text: string, number: (source: string) => unknown) {
    this.#text = text
    this.#number = number
  }

  isDone(): boolean {
    this.#skipBlanks()
    return !this.#failed && this.#at === this.#text.length
  }

  value(): unknown {
    const code = this.#skipBlanks()
    switch (code) {
      case OPEN_OBJECT:
        return this.#object()
      case OPEN_LIST:
        return this.#list()
      case QUOTE:
        return this.#string()
      case 116: // t
        return this.#word('true', true)
      case 102: // f
        return this.#word('false', false)
      case 110: // n
        return this.#word('null', null)
      default:
        return this.#numeral()
    }
  }

  #object(): unknown {
    const object: Record<string, unknown> = {}
    this.#at++
    if (this.#take(CLOSE_OBJECT)) return object
    do {
      if (this.#skipBlanks() !== QUOTE) return this.#fail()
      const name = this.#string()
      if (name === undefined || !this.#take(COLON)) return this.#fail()
      const value = this.value()
      if (this.#failed) return undefined
      if (name === '__proto__') define(object, name, value)
      else object[name] = value
    } while (this.#take(COMMA))
    return this.#take(CLOSE_OBJECT) ? object : this.#fail()
  }

  #list(): unknown {
    const elements: unknown[] = []
    this.#at++
    if (this.#take(CLOSE_LIST)) return elements
    do {
      elements.push(this.value())
      if (this.#failed) return undefined
    } while (this.#take(COMMA))
    return this.#take(CLOSE_LIST) ? elements : this.#fail()
  }

  #string(): string | undefined {
    const start = this.#at
    const end = this.#endOfString(start + 1)
    if (end < 0) return this.#fail()
    this.#at = end + 1
    return this.#isPlain(start + 1, end)
      ? this.#text.slice(start + 1, end)
      : this.#parseString(start, end + 1)
  }

  #endOfString(start: number): number {
    const text = this.#text
    for (let at = start; at < start + SHORT; at++) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) return at
      if (code === BACKSLASH) at++
      // Past the end, `code` is NaN.
      else if (!(code >= 32)) return -1
    }
    let quote = text.indexOf('"', start)
    for (let slash = this.#slashFrom(start); slash < quote; slash = this.#slashFrom(slash + 2)) {
      if (quote < slash + 2) quote = text.indexOf('"', slash + 2)
    }
    return quote
  }

  /** Searched only once, however many strings come before it. */
  #slashFrom(start: number): number {
    if (this.#slash < start) {
      const found = this.#text.indexOf('\\', start)
      this.#slash = found < 0 ? Number.POSITIVE_INFINITY : found
    }
    return this.#slash
  }

  /** Short and without escapes; longer strings are left to JSON.parse, which scans them faster. */
  #isPlain(start: number, end: number): boolean {
    if (end - start > SHORT) return false
    for (let at = start; at < end; at++) if (this.#text.charCodeAt(at) === BACKSLASH) return false
    return true
  }

  /** A string alone has no names that could be confused. */
  #parseString(start: number, end: number): string | undefined {
    try {
      return JSON.parse(this.#text.slice(start, end)) as string
    } catch {
      return this.#fail()
    }
  }

  #numeral(): unknown {
    const text = this.#text
    const start = this.#at
    let at = start
    if (text.charCodeAt(at) === MINUS) at++
    if (text.charCodeAt(at) === ZERO) at++
    else at = this.#digits(at)
    if (at > 0 && text.charCodeAt(at) === DOT) at = this.#digits(at + 1)
    if (at > 0 && (text.charCodeAt(at) | 32) === 101) {
      const sign = text.charCodeAt(at + 1)
      at = this.#digits(sign === 43 || sign === MINUS ? at + 2 : at + 1)
    }
    if (at <= start) return this.#fail()
    this.#at = at
    return this.#number(text.slice(start, at))
  }

  /** The offset where the digits end; -1 if there are none. */
  #digits(start: number): number {
    let at = start
    for (;;) {
      const code = this.#text.charCodeAt(at)
      if (!(code >= ZERO && code <= NINE)) return at === start ? -1 : at
      at++
    }
  }

  #word(word: string, value: unknown): unknown {
    if (!this.#text.startsWith(word, this.#at)) return this.#fail()
    this.#at += word.length
    return value
  }

  #take(mark: number): boolean {
    if (this.#skipBlanks() !== mark) return false
    this.#at++
    return true
  }

  /** The code of the next character; NaN at the end. */
  #skipBlanks(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return code
      this.#at++
    }
  }

  #fail(): undefined {
    this.#failed = true
    return undefined
  }
}

function define(object: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(object, name, {
    value,
    configurable: true,
    enumerable: true,
    writable: true,
  })
}
