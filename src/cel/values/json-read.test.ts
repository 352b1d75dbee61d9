import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../../test/fuzz/any-text.ts'
import { readJson } from './json-read.ts'
import { Uint } from './number.ts'
import type { Value } from './value.ts'

describe('readJson', () => {
  for (const [text, value] of [
    ['null', null],
    [' [1, "a", {}] ', [1, 'a', {}]],
    ['1.0', 1],
    ['1e3', 1000],
    ['-0', 0],
    ['[-0.0, -0e5, -1e-400, 0.5]', [0, 0, 0, 0.5]],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', 9007199254740992n],
    ['9007199254740993', 9007199254740993n],
    ['-9007199254740993', -9007199254740993n],
    ['9223372036854775807', 2n ** 63n - 1n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['9223372036854775808', new Uint(2n ** 63n)],
    ['18446744073709551615', new Uint(2n ** 64n - 1n)],
    ['18446744073709551616', 2 ** 64],
    ['-9223372036854775809', -(2 ** 63)],
    ['1e17', 1e17],
    ['[1e17, 9007199254740993]', [1e17, 9007199254740993n]],
    ['9007199254740993.0', 2 ** 53],
    ['1000000000000000.0', 1e15],
    ['{"id": "12345678901234567890", "n": 1}', { id: '12345678901234567890', n: 1 }],
    ['"\\ud83d\\ude00"', '😀'],
    ['{"constructor": 1}', { constructor: 1 }],
    ['{"a": 1, "a": 2}', { a: 2 }],
    [`${'['.repeat(200)}${']'.repeat(200)}`, JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`)],
  ] as [string, Value][]) {
    it(text.slice(0, 50), () => {
      const read = readJson(text)
      assert.deepEqual(read, value)
      if (value === 0) assert.ok(Object.is(read, 0))
    })
  }

  it('treats a member named __proto__ as a member', () => {
    for (const text of ['{"__proto__": {"a": 1}}', '{"__proto__": 12345678901234567890}']) {
      const value = readJson(text) as object
      assert.deepEqual(Object.keys(value), ['__proto__'])
      assert.equal(Object.getPrototypeOf(value), Object.prototype)
    }
  })

  for (const [why, text] of [
    ['nothing', ''],
    ['half a text', '{"a": '],
    ['a leading zero', '01'],
    ['a comment', '1 // one'],
    ['NaN', 'NaN'],
    ['a trailing comma', '[1,]'],
    ['single quotes', "{'a': 1}"],
    ['a control character', '"\n"'],
    ['an open string', '"\\"'],
    ['unpaired surrogate', '"\\ud83d"'],
    ['unpaired surrogate in a name', '{"\\uDE00": 1}'],
    ['unpaired surrogate deep inside', '[[{"a": ["x\\ud83dx"]}]]'],
    ['unpaired surrogate as it is', '"\ud83d"'],
    ['201 lists', `${'['.repeat(201)}${']'.repeat(201)}`],
    ['201 objects', `${'{"]":'.repeat(201)}1${'}'.repeat(201)}`],
    ['a million brackets', '['.repeat(1_000_000)],
  ] as const) {
    it(`rejects ${why}`, () => assert.equal(readJson(text), undefined))
  }

  for (const [text, value] of [
    ['{"a": 1, "b": {"a": 1}}', { a: 1, b: { a: 1 } }],
    ['{"a:a": ":\\":", "b": [{"a": 1}, {"a": 1}]}', { 'a:a': ':":', b: [{ a: 1 }, { a: 1 }] }],
    ['{"a": 1, "a": 1}', undefined],
    ['{"a": 1, "\\u0061": 2}', undefined],
    ['[{"x": {"a": {}, "b": 1, "a": []}}]', undefined],
    ['{"__proto__": 1, "__proto__": 2}', undefined],
    ['{"a": 12345678901234567890, "a": 1}', undefined],
  ] as [string, Value | undefined][]) {
    it(`${text} with duplicates rejected is ${value ? 'read' : 'an error'}`, () =>
      assert.deepEqual(readJson(text, { duplicates: 'reject' }), value))
  }

  it('a name read before does not affect how another is read', () => {
    for (const text of [
      '{"a": 1, "\\\\": 2}',
      '{"a": 1, "\\u0062": 2}',
      '{"a": 1, "\\"": 2}',
      '{"a": 1, "\\\\": 2}',
    ]) {
      readJson(text)
      assert.deepEqual(readJson('{"a": 1, "\\u0062": 2}'), { a: 1, b: 2 }, `after ${text}`)
    }
  })

  it('agrees with a plain parser on any JSON', () => {
    fc.assert(
      fc.property(DOCUMENT, (text) => {
        assert.deepEqual(readJson(text, { duplicates: 'reject' }), plain(text))
      }),
      { numRuns: 150 },
    )
  })

  it('never throws', () => {
    const pieces = fc.constantFrom(...'[]{}",:\\ -0123456789.eEu', 'true', 'null', '\ud800', 'a')
    fc.assert(
      fc.property(fc.array(pieces), (text) => {
        readJson(text.join(''), { duplicates: 'reject' })
      }),
      { numRuns: 150 },
    )
  })
})

const NUMBER = fc.oneof(
  fc.bigInt({ min: -(2n ** 66n), max: 2n ** 66n }).map(String),
  fc.bigInt({ min: 2n ** 53n - 2n, max: 2n ** 53n + 2n }).map(String),
  fc.double({ noDefaultInfinity: true, noNaN: true }).map((value) => JSON.stringify(value)),
  fc.constantFrom('-0', '-0.0', '1.0', '1e3', '1E-400', '-1e-400', '12345678901234567.5'),
)
const TEXT = fc.oneof(
  anyText().map((text) => JSON.stringify(text)),
  fc.constantFrom('":"', '"\\""', '"\\\\"', '"[{"', '"\\ud800"', '"12345678901234567890"', '"-0"'),
)
const { document: DOCUMENT } = fc.letrec<{ document: string }>((tie) => ({
  document: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(NUMBER, TEXT, fc.constantFrom('true', 'false', 'null')),
    fc.array(tie('document')).map((elements) => `[${elements.join(', ')}]`),
    fc
      .uniqueArray(fc.tuple(TEXT, tie('document')), { selector: ([name]) => JSON.parse(name) })
      .map((members) => `{${members.map((member) => member.join(': ')).join(' ,')}}`),
  ),
}))

/** The expected value, the slow way: numbers and strings become marks before the text is read. */
function plain(text: string): Value | undefined {
  const strings: string[] = []
  const marked = text.replace(
    /("(?:[^"\\]|\\.)*")|(-?[0-9][0-9.eE+-]*)/g,
    (_, string: string | undefined, number: string) =>
      string === undefined ? `"n${number}"` : `"s${strings.push(JSON.parse(string)) - 1}"`,
  )
  const unmark = (value: unknown): Value => {
    if (typeof value === 'string') {
      const rest = value.slice(1)
      return value.startsWith('s') ? (strings[Number(rest)] as string) : plainNumber(rest)
    }
    if (Array.isArray(value)) return value.map(unmark)
    if (typeof value !== 'object' || value === null) return value as Value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [unmark(name), unmark(member)]),
    )
  }
  const value = unmark(JSON.parse(marked))
  return strings.every((string) => string.isWellFormed()) ? value : undefined
}

function plainNumber(text: string): Value {
  const value = Number(text)
  if (value === 0) return 0
  if (Number.isSafeInteger(value) || !/^-?[0-9]+$/.test(text)) return value
  const exact = BigInt(text)
  if (exact >= -(2n ** 63n) && exact < 2n ** 63n) return exact
  return exact > 0n && exact < 2n ** 64n ? new Uint(exact) : value
}
