import { tests as checking } from '@bufbuild/cel-spec/testdata/checking.js'
import { tests as comprehension } from '@bufbuild/cel-spec/testdata/comprehension.js'
import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js'
import { tests as parsing } from '@bufbuild/cel-spec/testdata/parsing.js'
import fc from 'fast-check'
import type { Json } from '../conformance/simple-test.ts'
import { anyText } from './any-text.ts'

/** Every expression of cel-spec and of cel-go's own tests, including invalid ones. */
export const SEEDS: readonly string[] = [
  ...new Set(
    [conformance, parsing, checking, comprehension].flatMap((suite) => texts(suite as Json)),
  ),
]

function texts(suite: Json): string[] {
  const own = (suite.tests ?? []).map((test) => test.original.expr)
  return [...own, ...(suite.suites ?? []).flatMap(texts)]
}

/** Valid and invalid parts of an expression; each has broken a parser. */
const FRAGMENTS = [
  ...`( ) [ ] { } . , ? : ! - + * / % < <= > >= == != && || in .? [? \` ' " ''' """ r' b' br" // \\`.split(
    ' ',
  ),
  ...`true false null 0 1 -1 1u 1.5 1e400 .5 0x 0xFFFFFFFFFFFFFFFF 9223372036854775807
      9223372036854775808 -9223372036854775808 18446744073709551615u 1e-400 007 1..2 1.e5
      x i s m jwt request.path has( dyn( type( .map(x, .filter(x, .all(x, .exists(x, .exists_one(
      .transformMap(k,v, cel.bind(x, optional.of( .optMap(x, .or( .orValue( size( .size()
      .matches(' .format([ duration(' timestamp(' __proto__ constructor as for while
      google.protobuf.Timestamp a.b.c{ Msg{x:1} \\u0041 \\x41 \\101 \\U0001F600 \\uD800 \\8`.split(
    /\s+/,
  ),
  '\n',
  '\t',
  '\f',
  '\r\n',
  ' ',
  '\u0000',
  '\u00a0',
  '\u2028',
  '\ufeff',
  '\u{1f600}',
  '\ud800',
  'é',
  '\u202e',
]

/** Deep or long when repeated. */
const REPEATED: readonly (readonly [open: string, close: string])[] = [
  ['(', ')'],
  ['[', ']'],
  ['{1:', '}'],
  ['!', ''],
  ['-', ''],
  ['!-', ''],
  ['x.', 'x'],
  ['x[', ']'],
  ['f(', ')'],
  ['x.f(', ')'],
  ['true?', ':1'],
  ['true?1:', '1'],
  ['1+', '1'],
  ['"a"+', '"a"'],
  ['x||', 'x'],
  ['x&&', 'x'],
  ['[1].map(x,', ')'],
  ['[x].all(x,', ')'],
  ['cel.bind(x,', ',x)'],
  ['M{a:', '}'],
  ['x.?', 'y'],
  ['"', ''],
  ["'''", ''],
  ['`', ''],
  ['//', ''],
  ['\\', ''],
  ['9', ''],
  ['a', ''],
  ['((', ')'],
]

/**
 * A string that is truncated in output if it is long, so that one failure does not fill the log.
 */
export class HostileText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  [fc.toStringMethod](): string {
    const { text } = this
    if (text.length <= 400) return JSON.stringify(text)
    return `${JSON.stringify(text.slice(0, 200))} … ${JSON.stringify(text.slice(-100))}, ${text.length} in all`
  }
}

export function mutatedText(): fc.Arbitrary<HostileText> {
  const text = fc.oneof(
    { weight: 6, arbitrary: mutation() },
    { weight: 1, arbitrary: anyText({ maxLength: 60 }) },
    { weight: 2, arbitrary: fc.array(fragment(), { maxLength: 25 }).map((all) => all.join('')) },
    { weight: 1, arbitrary: repeated() },
    { weight: 4, arbitrary: combined() },
  )
  return text.map((given) => new HostileText(given))
}

function fragment(): fc.Arbitrary<string> {
  return fc.constantFrom(...FRAGMENTS)
}

function seed(): fc.Arbitrary<string> {
  return fc.constantFrom(...SEEDS)
}

type Edit = (text: string) => string

function mutation(): fc.Arbitrary<string> {
  const place = fc.double({ min: 0, max: 1, noNaN: true })
  const span = fc.tuple(place, fc.nat(12))
  const edit: fc.Arbitrary<Edit> = fc.oneof(
    fc.tuple(span, fragment()).map(([at, by]) => replaced(at, () => by)),
    fc.tuple(place, fragment()).map(([at, by]) => replaced([at, 0], () => by)),
    fc.tuple(span, seed()).map(([at, by]) => replaced(at, () => by)),
    span.map((at) => replaced(at, () => '')),
    span.map((at) => replaced(at, (cut) => cut + cut)),
    fc.tuple(span, anyText({ maxLength: 3 })).map(([at, by]) => replaced(at, () => by)),
    place.map((at) => (text: string) => text.slice(0, Math.floor(at * text.length))),
  )
  return fc
    .tuple(seed(), fc.array(edit, { minLength: 1, maxLength: 5 }))
    .map(([text, edits]) => edits.reduce((result, change) => change(result), text))
}

function replaced([at, length]: readonly [number, number], by: (cut: string) => string): Edit {
  return (text) => {
    const start = Math.floor(at * text.length)
    const end = Math.min(text.length, start + length)
    return text.slice(0, start) + by(text.slice(start, end)) + text.slice(end)
  }
}

/** Combines whole expressions, most of which parse, so that later stages are reached too. */
function combined(): fc.Arbitrary<string> {
  const name = fc.constantFrom('x', 'y', 'm', 'jwt')
  const operator = fc.constantFrom(...'+ - * / % == != < >= && || in'.split(' '))
  return fc.oneof(
    fc.tuple(seed(), operator, seed()).map(([a, op, b]) => `(${a}) ${op} (${b})`),
    fc.tuple(seed(), seed(), seed()).map(([a, b, c]) => `(${a}) ? (${b}) : (${c})`),
    fc.tuple(seed(), name, seed()).map(([a, x, b]) => `[${a}].map(${x}, ${b})`),
    fc.tuple(seed(), name, seed()).map(([a, x, b]) => `(${a}).exists(${x}, ${b})`),
    fc.tuple(seed(), name, seed()).map(([a, x, b]) => `(${a}).all(${x}, k, ${b})`),
    fc.tuple(name, seed(), seed()).map(([x, a, b]) => `cel.bind(${x}, ${a}, ${b})`),
    fc.tuple(seed(), fragment(), seed()).map(([a, key, b]) => `{${a}: ${key}, 'k': ${b}}`),
    fc.tuple(seed(), seed(), fc.nat()).map(([a, b, at]) => substituted(a, b, at)),
  )
}

/** Replaces one word of `text` with another expression. */
function substituted(text: string, by: string, at: number): string {
  const words = [...text.matchAll(/[A-Za-z_]\w*|\d+|'[^']*'/g)]
  const word = words[at % Math.max(1, words.length)]
  if (word === undefined) return by
  return `${text.slice(0, word.index)}(${by})${text.slice(word.index + word[0].length)}`
}

function repeated(): fc.Arbitrary<string> {
  const times = fc.oneof(fc.nat(300), fc.nat(20_000))
  return fc
    .tuple(fc.constantFrom(...REPEATED), times, fc.constantFrom(0, 0.5, 1), fragment())
    .map(([[open, close], opens, closed, middle]) => {
      return open.repeat(opens) + middle + close.repeat(Math.floor(opens * closed))
    })
}
