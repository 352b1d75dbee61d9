import { findLastText, findText } from '../values/text-search.ts'

type Test = (text: string) => boolean

const META = /[\\.+*?()|[\]{}^$]/
const PUNCTUATION = /[!-/:-@[-`{-~]/

/**
 * The test for a pattern that is a literal with optional anchors and `.*` at its ends, like most
 * patterns for paths and hosts; `undefined` for all others. Without flags, `^` and `$` are the ends
 * of the string, and `.` is anything but a newline.
 */
export function compileLiteral(pattern: string): Test | undefined {
  const parts = readLiteral(pattern)
  if (parts === undefined) return undefined
  const { start, literal, end } = parts
  // The newline checks for `.*` also cover the literal, so the literal must not contain any.
  if ((start === '^.*' || end === '.*$') && literal.includes('\n')) return undefined
  return TESTS[`${start} ${end}`](literal)
}

type Start = '' | '^' | '^.*'
type End = '' | '$' | '.*$'

const TESTS: Record<`${Start} ${End}`, (literal: string) => Test> = {
  ' ': (literal) => (text) => findText(text, literal, 0) >= 0,
  ' $': (literal) => (text) => text.endsWith(literal),
  ' .*$': (literal) => (text) => {
    const at = findLastText(text, literal, text.length)
    return at >= 0 && !text.includes('\n', at)
  },
  '^ ': (literal) => (text) => text.startsWith(literal),
  '^ $': (literal) => (text) => text === literal,
  '^ .*$': (literal) => (text) => text.startsWith(literal) && !text.includes('\n', literal.length),
  '^.* ': (literal) => (text) => {
    const at = findText(text, literal, 0)
    return at >= 0 && !isBefore(text, at)
  },
  '^.* $': (literal) => (text) =>
    text.endsWith(literal) && !isBefore(text, text.length - literal.length),
  '^.* .*$': (literal) => (text) => !text.includes('\n') && findText(text, literal, 0) >= 0,
}

/** Whether there is a newline before this offset. */
function isBefore(text: string, offset: number): boolean {
  const newline = text.indexOf('\n')
  return newline >= 0 && newline < offset
}

function readLiteral(pattern: string) {
  let at = 0
  let start: Start = ''
  if (pattern.startsWith('^')) {
    start = '^'
    at = 1
  }
  if (pattern.startsWith('.*', at)) {
    // Without `^` the match may begin anywhere, so `.*` changes nothing.
    if (start === '^') start = '^.*'
    at += 2
  }
  let literal = ''
  while (at < pattern.length) {
    let char = pattern[at] as string
    if (char === '\\') {
      char = pattern[at + 1] ?? ''
      if (!PUNCTUATION.test(char)) return undefined
      at++
    } else if (META.test(char)) {
      break
    }
    literal += char
    at++
  }
  const end = ENDS.get(pattern.slice(at))
  return end === undefined ? undefined : { start, literal, end }
}

const ENDS: ReadonlyMap<string, End> = new Map([
  ['', ''],
  ['.*', ''],
  ['$', '$'],
  ['.*$', '.*$'],
])
