/** An upper bound of the cost of compiling a pattern, computed in one pass over it. */
export interface RegexSize {
  /** The size of the program: counted repeats multiply, as in `(x{99}){9}`. */
  readonly instructions: number
  /**
   * Code points to process one by one: those in the ranges of a case-insensitive class, and the
   * tables of scripts and categories. A million takes about 200 ms.
   */
  readonly codePoints: number
}

interface Group {
  size: number
  /** The size of the latest atom, to which a repeat operator applies. */
  atom: number
}

const REPEAT = /\{(\d{1,4})(?:(,)(\d{0,4}))?\}/y
const HEX = /\\x(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{2}))/y
const PROPERTY = /\\[pP](?:\{[^}]*\}|.)/y
const FOLDS = /\(\?[A-Za-z]*i/
/** A table has up to about 700 ranges, and twice as many with both cases. */
const TABLE = 1_000

export function regexSize(pattern: string): RegexSize {
  const outer: Group[] = []
  let group: Group = { size: 0, atom: 0 }
  let spanned = 0
  let at = 0

  const atom = (size: number, next: number) => {
    group.size += size
    group.atom = size
    at = next
  }
  const grow = (size: number, next: number) => {
    group.size += size - group.atom
    group.atom = size
    at = next
  }

  while (at < pattern.length) {
    const char = pattern[at]
    if (char === '\\') {
      if (pattern.startsWith('\\Q', at)) {
        const close = pattern.indexOf('\\E', at + 2)
        const end = close < 0 ? pattern.length : close
        group.size += end - at - 2
        atom(1, end + 2)
      } else {
        atom(1, escapeEnd(pattern, at))
      }
    } else if (char === '[') {
      const found = readClass(pattern, at)
      spanned += found.span
      atom(1, found.end)
    } else if (char === '(') {
      outer.push(group)
      group = { size: 0, atom: 0 }
      at = groupStart(pattern, at)
    } else if (char === ')') {
      const inner = group
      group = outer.pop() ?? { size: 0, atom: 0 }
      atom(inner.size + 2, at + 1)
    } else if (char === '*' || char === '+' || char === '?') {
      grow(group.atom + 2, at + 1)
    } else if (char === '{') {
      const repeat = match(REPEAT, pattern, at)
      if (repeat === null) atom(1, at + 1)
      else {
        const min = Number(repeat[1])
        const max = Math.max(min, Number(repeat[3] || min), 1)
        grow((group.atom + 1) * max + 2, at + repeat[0].length)
      }
    } else {
      // A side of | may be empty, which is an instruction too.
      atom(char === '|' ? 2 : 1, at + 1)
    }
  }
  while (outer.length > 0) group.size += (outer.pop() as Group).size
  const tables = TABLE * (pattern.match(/\\[pP]/g)?.length ?? 0)
  const codePoints = FOLDS.test(pattern) ? spanned + 2 * tables : tables
  return { instructions: group.size + 3, codePoints }
}

/** The offset after `(`, `(?:`, `(?i:` or `(?P<name>`; for `(?i)`, before the `)`. */
function groupStart(pattern: string, at: number): number {
  if (pattern[at + 1] !== '?') return at + 1
  let end = at + 2
  while (end < pattern.length && !':)>'.includes(pattern[end] as string)) end++
  return pattern[end] === ')' ? end : end + 1
}

function escapeEnd(pattern: string, at: number): number {
  const found = match(HEX, pattern, at) ?? match(PROPERTY, pattern, at)
  return found === null ? at + 2 : at + found[0].length
}

/** Reads a class from its `[`: where it ends, and how many code points its ranges span. */
function readClass(pattern: string, start: number): { end: number; span: number } {
  let span = 0
  let from: number | undefined
  let at = start + 1
  if (pattern[at] === '^') at++
  // A leading bracket is a member of the class: []a].
  for (let first = true; at < pattern.length; first = false) {
    if (pattern[at] === ']' && !first) return { end: at + 1, span }
    const named = pattern.startsWith('[:', at) ? pattern.indexOf(':]', at) : -1
    if (named > 0) {
      at = named + 2
      from = undefined
    } else if (pattern[at] === '-' && from !== undefined && pattern[at + 1] !== ']') {
      const to = readCodePoint(pattern, at + 1)
      span += Math.max(0, to.code - from)
      at = to.end
      from = undefined
    } else {
      const one = readCodePoint(pattern, at)
      from = one.code
      at = one.end
    }
  }
  return { end: at, span }
}

function readCodePoint(pattern: string, at: number): { code: number; end: number } {
  if (pattern[at] !== '\\') {
    const code = pattern.codePointAt(at) ?? 0
    return { code, end: at + (code > 0xffff ? 2 : 1) }
  }
  const hex = match(HEX, pattern, at)
  if (hex === null) return { code: 0, end: escapeEnd(pattern, at) }
  return { code: Number.parseInt((hex[1] ?? hex[2]) as string, 16), end: at + hex[0].length }
}

function match(expression: RegExp, text: string, at: number): RegExpExecArray | null {
  expression.lastIndex = at
  return expression.exec(text)
}
