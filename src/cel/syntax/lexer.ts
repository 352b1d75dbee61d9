import type { Value } from '../values/value.ts'
import { readNumber } from './number-literal.ts'
import { characterHint } from './other-language-hints.ts'
import { readText } from './text-literal.ts'

/** Each punctuation token is its own kind (`'&&'`); the others carry a name or a value. */
export type TokenKind = 'ident' | 'quoted' | 'literal' | 'end' | Punctuation

type Punctuation = (typeof PUNCTUATION)[number]

const PUNCTUATION = [
  '==', '!=', '<=', '>=', '&&', '||', '<', '>', '!', '?', ':', '.', ',', '+', '-', '*', '/', '%',
  '(', ')', '[', ']', '{', '}', 'in',
] as const // biome-ignore format: one table

const SINGLE = new Map<number, Punctuation>()
for (const text of PUNCTUATION) if (text.length === 1) SINGLE.set(text.charCodeAt(0), text)

const KEYWORDS = new Map<string, Value | undefined>([
  ['true', true],
  ['false', false],
  ['null', null],
])

export interface Problem {
  readonly message: string
  readonly start: number
  readonly end: number
  readonly hint?: string
  /** Set if a limit was exceeded, as opposed to a syntax error. */
  readonly limit?: true
}

/**
 * Reads one token at a time into its own fields. After the first problem it yields only `end`, so
 * that the parser unwinds.
 */
export class Lexer {
  readonly text: string
  kind: TokenKind = 'end'
  start = 0
  end = 0
  /** The name of an ident or quoted field. */
  name = ''
  /** The value of a literal. */
  value: Value = null
  /** Where the previous token ended. */
  before = 0
  problem: Problem | undefined

  constructor(text: string) {
    this.text = text
  }

  fail(message: string, start: number, end: number, more: { hint?: string; limit?: true } = {}) {
    if (this.problem === undefined) this.problem = { message, start, end, ...more }
    this.kind = 'end'
    this.start = this.end = this.text.length
  }

  next(): void {
    this.before = this.end
    if (this.problem !== undefined) {
      this.kind = 'end'
      return
    }
    const { text } = this
    const at = skipBlank(text, this.end)
    this.start = at
    if (at >= text.length) {
      this.kind = 'end'
      this.end = at
      return
    }
    const code = text.charCodeAt(at)
    const second = text.charCodeAt(at + 1)
    if (isLetter(code)) this.#word(at, code)
    else if (isDigit(code) || (code === 46 /* . */ && isDigit(second))) {
      this.#literal(readNumber(text, at))
    } else if (code === 34 /* " */ || code === 39 /* ' */) this.#literal(readText(text, at, at))
    else if (code === 96 /* ` */) this.#quoted(at)
    else this.#operator(at, code, second)
  }

  #operator(at: number, code: number, second: number): void {
    this.end = at + 2
    if (second === 61 /* = */ && (code === 61 || code === 33 || code === 60 || code === 62)) {
      this.kind = code === 61 ? '==' : code === 33 ? '!=' : code === 60 ? '<=' : '>='
      return
    }
    if (code === second && (code === 38 /* & */ || code === 124) /* | */) {
      this.kind = code === 38 ? '&&' : '||'
      return
    }
    const single = SINGLE.get(code)
    if (single === undefined) {
      this.#unexpected(at)
      return
    }
    this.kind = single
    this.end = at + 1
  }

  #word(at: number, first: number): void {
    const { text } = this
    let end = at + 1
    while (isWordPart(text.charCodeAt(end))) end++
    const quote = text.charCodeAt(end)
    if ((quote === 34 || quote === 39) && isPrefix(text, at, end)) {
      this.#literal(readText(text, at, end))
      return
    }
    const name = text.slice(at, end)
    this.end = end
    if (first === 105 /* i */ && name === 'in') {
      this.kind = 'in'
      return
    }
    const keyword = KEYWORDS.get(name)
    if (keyword !== undefined) {
      this.kind = 'literal'
      this.value = keyword
      return
    }
    this.kind = 'ident'
    this.name = name
  }

  #literal(read: { value: Value; end: number } | Problem): void {
    if ('message' in read) {
      this.fail(read.message, read.start, read.end, read.hint === undefined ? {} : read)
      return
    }
    this.kind = 'literal'
    this.value = read.value
    this.end = read.end
  }

  #quoted(at: number): void {
    const close = this.text.indexOf('`', at + 1)
    const name = this.text.slice(at + 1, close)
    if (close < 0) this.fail('unterminated quoted field name', at, this.text.length)
    else if (!/^[\w.\-/ ]+$/.test(name)) this.fail('invalid field name', at, close + 1)
    else {
      this.kind = 'quoted'
      this.name = name
      this.end = close + 1
    }
  }

  #unexpected(at: number): void {
    const hint = characterHint(this.text, at)
    // Checks the length too: V8 may combine half of a pair at a slice's end with what follows it.
    const isPair = at + 1 < this.text.length && (this.text.codePointAt(at) ?? 0) > 0xffff
    const width = isPair ? 2 : 1
    const shown = JSON.stringify(this.text.slice(at, at + width))
    this.fail(`unexpected character ${shown}`, at, at + width, hint === undefined ? {} : { hint })
  }
}

/** The offset after white space and `// comments`. */
function skipBlank(text: string, from: number): number {
  let at = from
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === 32 || (code >= 9 && code <= 13 && code !== 11)) at++
    else if (code === 47 && text.charCodeAt(at + 1) === 47) {
      const line = text.indexOf('\n', at)
      if (line < 0) return text.length
      at = line + 1
    } else return at
  }
}

/** Whether this is the prefix of a literal: `r`, `b` or `br`, in either case. */
function isPrefix(text: string, start: number, end: number): boolean {
  return end - start <= 2 && /^(?:r|b|br)$/i.test(text.slice(start, end))
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95
}

function isWordPart(code: number): boolean {
  return isLetter(code) || isDigit(code)
}
