import type { ScalarNode } from './node.ts'

/**
 * Returns the source offset of each UTF-16 unit of a scalar's value, and of its end; undefined if
 * they cannot be matched, for example if the value is not a string.
 */
export function offsetsOf(node: ScalarNode, text: string): readonly number[] | undefined {
  if (typeof node.value !== 'string') return undefined
  const written = WRITTEN[node.style](text, node)
  return written.value === node.value ? [...written.offsets, written.end] : undefined
}

interface Written {
  readonly value: string
  readonly offsets: readonly number[]
  readonly end: number
}

const WRITTEN: Readonly<Record<ScalarNode['style'], (text: string, node: ScalarNode) => Written>> =
  {
    plain: (text, { start, end }) => flow(text, start, end, plainUnit),
    single: (text, { start, end }) => flow(text, start + 1, end - 1, singleUnit),
    double: (text, { start, end }) => flow(text, start + 1, end - 1, doubleUnit),
    literal: block,
    folded: block,
  }

/** Returns the value at an offset, and its length in the source. */
type Unit = (text: string, at: number) => readonly [value: string, length: number]

const plainUnit: Unit = (text, at) => [text.charAt(at), 1]
const singleUnit: Unit = (text, at) => (text.startsWith("''", at) ? ["'", 2] : [text.charAt(at), 1])

const ESCAPES: Readonly<Record<string, string>> = {
  '0': '\0',
  a: '\x07',
  b: '\b',
  t: '\t',
  '\t': '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
  e: '\x1b',
  ' ': ' ',
  N: '\u0085',
  _: '\u00a0',
  L: '\u2028',
  P: '\u2029',
}

const HEX: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 }

const doubleUnit: Unit = (text, at) => {
  if (text.charAt(at) !== '\\') return [text.charAt(at), 1]
  const letter = text.charAt(at + 1)
  const digits = HEX[letter]
  if (digits === undefined) return [ESCAPES[letter] ?? letter, 2]
  const code = Number.parseInt(text.slice(at + 2, at + 2 + digits), 16)
  return [Number.isNaN(code) || code > 0x10ffff ? '' : String.fromCodePoint(code), 2 + digits]
}

/** Plain and quoted scalars: one line break is a space, and n + 1 are n line breaks. */
function flow(text: string, start: number, end: number, unit: Unit): Written {
  let value = ''
  const offsets: number[] = []
  let at = start
  while (at < end) {
    const fold = foldAt(text, at, end, unit === doubleUnit)
    if (fold !== undefined) {
      const folded = fold.breaks === 1 ? (fold.isEscaped ? '' : ' ') : '\n'.repeat(fold.breaks - 1)
      for (const _ of folded) offsets.push(at)
      value += folded
      at = fold.next
      continue
    }
    const [piece, length] = unit(text, at)
    for (let i = 0; i < piece.length; i++) offsets.push(at)
    value += piece
    at += length
  }
  return { value, offsets, end }
}

/** White space around one or more line breaks; a backslash before the first one removes it. */
function foldAt(text: string, at: number, end: number, hasEscapes: boolean) {
  const isEscaped = hasEscapes && /^\\\r?\n/.test(text.slice(at, at + 3))
  const pattern = /[ \t]*(?:\r?\n[ \t]*)+/y
  pattern.lastIndex = isEscaped ? at + 1 : at
  const [all] = pattern.exec(text) ?? []
  if (all === undefined || pattern.lastIndex > end) return undefined
  return { breaks: all.split('\n').length - 1, next: pattern.lastIndex, isEscaped }
}

interface Line {
  readonly text: string
  readonly start: number
}

/** `|` and `>`: reads the header, strips the indentation, keeps or folds lines, chomps the end. */
function block(text: string, node: ScalarNode): Written {
  // If the first line of the content is indented further, the header has an indentation indicator,
  // relative to the parent; the indentation is found by comparing with the value.
  const { lines, indicators } = linesOf(text, node)
  for (let indent = indentOf(lines); ; indent--) {
    const written = writtenBlock(lines, indent, indicators, node)
    if (written.value === node.value || indent === 0) return written
  }
}

/** The value of a block scalar without an indentation indicator. */
export function blockValue(text: string, node: BlockSpan): string {
  const { lines, indicators } = linesOf(text, node)
  return writtenBlock(lines, indentOf(lines), indicators, node).value
}

type BlockSpan = Pick<ScalarNode, 'start' | 'end' | 'style'>

function writtenBlock(
  lines: readonly Line[],
  indent: number,
  indicators: string,
  { style, end }: BlockSpan,
): Written {
  const written = style === 'folded' ? foldLines(lines, indent) : keepLines(lines, indent)
  return chomp(written, indicators, end)
}

function linesOf(text: string, { start, end }: BlockSpan) {
  const header = /[|>]([-+0-9]*)[^\n]*\n?/y
  header.lastIndex = start
  const [head = '', indicators = ''] = header.exec(text) ?? []
  const lines: Line[] = []
  let at = start + head.length
  for (const line of text.slice(at, end).split('\n')) {
    lines.push({ text: line.replace(/\r$/, ''), start: at })
    at += line.length + 1
  }
  return { lines, indicators }
}

function indentOf(lines: readonly Line[]): number {
  const content = lines.filter((line) => /[^ ]/.test(line.text))
  const indents = (content.length === 0 ? lines : content).map((line) => line.text.search(/[^ ]|$/))
  return Math.min(...indents)
}

function keepLines(lines: readonly Line[], indent: number): Written {
  let value = ''
  const offsets: number[] = []
  for (const line of lines) {
    for (let i = indent; i < line.text.length; i++) offsets.push(line.start + i)
    value += `${line.text.slice(indent)}\n`
    offsets.push(line.start + line.text.length)
  }
  return { value, offsets, end: 0 }
}

/** A single break between two lines that are not indented further becomes a space. */
function foldLines(lines: readonly Line[], indent: number): Written {
  let value = ''
  const offsets: number[] = []
  let blank = 0
  let previous: Line | undefined
  const put = (piece: string, at: number) => {
    for (let i = 0; i < piece.length; i++) offsets.push(at)
    value += piece
  }
  for (const line of lines) {
    if (line.text.slice(indent).trim() === '' && line.text.length <= indent) {
      blank++
      continue
    }
    const isMore = /^[ \t]/.test(line.text.slice(indent))
    if (previous === undefined) put('\n'.repeat(blank), line.start)
    else {
      const wasMore = /^[ \t]/.test(previous.text.slice(indent))
      const at = previous.start + previous.text.length
      if (isMore || wasMore) put('\n'.repeat(blank + 1), at)
      else put(blank === 0 ? ' ' : '\n'.repeat(blank), at)
    }
    for (let i = indent; i < line.text.length; i++) offsets.push(line.start + i)
    value += line.text.slice(indent)
    blank = 0
    previous = line
  }
  const last = previous === undefined ? 0 : previous.start + previous.text.length
  put('\n'.repeat(blank + 1), last)
  return { value, offsets, end: 0 }
}

function chomp({ value, offsets }: Written, indicators: string, end: number): Written {
  if (indicators.includes('+')) {
    // The text ends with a line break; the empty line after it is not content.
    const kept = value.endsWith('\n') ? value.slice(0, -1) : value
    return { value: kept, offsets: offsets.slice(0, kept.length), end }
  }
  const bare = value.replace(/\n+$/, '')
  const kept = indicators.includes('-') || bare === '' ? bare : `${bare}\n`
  return { value: kept, offsets: offsets.slice(0, kept.length), end }
}
