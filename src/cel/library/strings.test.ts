import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { failure } from '../values/failure.ts'
import { MAX_LIST, MAX_STRING } from '../values/fuel.ts'
import { show } from '../values/show.ts'
import type { Value } from '../values/value.ts'
import { STRINGS } from './strings.ts'
import { caller } from './test-call.ts'

const call = caller(STRINGS)

/** Receiver, arguments and expected result; `undefined` is an error. */
type Row = readonly [receiver: Value, args: readonly Value[], expected: Value | undefined]

function table(name: string, rows: readonly Row[]) {
  describe(name, () => {
    for (const [receiver, args, expected] of rows) {
      const shown = `${show(receiver)}.${name}(${args.map(show).join(', ')})`
      it(`${shown}: ${expected === undefined ? 'an error' : show(expected)}`, () => {
        assert.deepEqual(call(name, receiver, ...args), expected)
      })
    }
  })
}

table('charAt', [
  ['tacocat', [3], 'o'],
  ['tacocat', [7], ''],
  ['©αT', [1], 'α'],
  ['a😀b', [1], '😀'],
  ['a😀b', [2], 'b'],
  ['tacocat', [30], undefined],
  ['tacocat', [-1], undefined],
  ['tacocat', [2n ** 60n], undefined],
  [42, [2], undefined],
])

table('indexOf', [
  ['tacocat', [''], 0],
  ['tacocat', ['ac'], 1],
  ['tacocat', ['none'], -1],
  ['tacocat', ['', 3], 3],
  ['tacocat', ['a', 3], 5],
  ['ta©o©αT', ['©', 3], 4],
  ['😀😀b', ['b'], 2],
  ['😀😀b', ['😀', 1], 1],
  ['tacocat', ['a', 7], -1],
  ['tacocat', ['a', 30], undefined],
  ['tacocat', ['a', -1], undefined],
  ['42', [4, 0], undefined],
])

table('lastIndexOf', [
  ['', ['@@'], -1],
  ['tacocat', [''], 7],
  ['tacocat', ['at'], 5],
  ['tacocat', ['', 3], 3],
  ['tacocat', ['a', 3], 1],
  ['ta©o©αT', ['©', 3], 2],
  ['bananananana', ['nana', 7], 6],
  ['😀a😀', ['😀'], 2],
  ['😀a😀', ['😀', 1], 0],
  ['a', ['a', 1], -1],
  ['a', ['', 1], 1],
  ['tacocat', ['t', 6], 6],
  ['tacocat', ['t', 7], -1],
  ['tacocat', ['a', -1], undefined],
  ['tacocat', ['a', 30], undefined],
])

table('join', [
  [['x', 'y'], [], 'xy'],
  [['x', 'y'], ['-'], 'x-y'],
  [[], ['-'], ''],
  [['x', 1], ['-'], undefined],
])

table('lowerAscii', [
  ['TacoCat', [], 'tacocat'],
  ['TacoCÆt Xii', [], 'tacocÆt xii'],
])
table('upperAscii', [
  ['tacoCat', [], 'TACOCAT'],
  ['tacoCαt', [], 'TACOCαT'],
])

table('replace', [
  ['{0} days {0} hours', ['{0}', '2'], '2 days 2 hours'],
  ['{0} days {0} hours', ['{0}', '2', 1], '2 days {0} hours'],
  ['{0} days', ['{0}', '2', 0], '{0} days'],
  ['aaaa', ['a', 'b', -1], 'bbbb'],
  ['$1', ['$1', '$&$$'], '$&$$'],
  ['😀b', ['', '-'], '-😀-b-'],
  ['ab', ['', '-', 2], '-a-b'],
  ['', ['', 'x'], 'x'],
  ['', ['', 'x', 0], ''],
  ['42', ['2', 1], undefined],
])

table('split', [
  ['hello world', [' '], ['hello', 'world']],
  ['hello world events!', [' ', 0], []],
  ['hello world events!', [' ', 1], ['hello world events!']],
  ['hello world events!', [' ', 2], ['hello', 'world events!']],
  ['a,b', [',', 5], ['a', 'b']],
  ['o©o©o', ['©', -1], ['o', 'o', 'o']],
  ['a😀b', [''], ['a', '😀', 'b']],
  ['a😀b', ['', 2], ['a', '😀b']],
  ['', [''], []],
  ['', [','], ['']],
  ['42', ['2', '1'], undefined],
])

table('substring', [
  ['tacocat', [4], 'cat'],
  ['tacocat', [7], ''],
  ['tacocat', [0, 4], 'taco'],
  ['tacocat', [4, 4], ''],
  ['ta©o©αT', [2, 6], '©o©α'],
  ['a😀b', [1, 2], '😀'],
  ['tacocat', [40], undefined],
  ['tacocat', [-1], undefined],
  ['tacocat', [1, 50], undefined],
  ['tacocat', [4, 3], undefined],
])

table('trim', [
  [' \f\n\r\t\vtext  ', [], 'text'],
  ['\u0085\u00a0\u1680text\u2028\u2029\u202f\u205f\u3000', [], 'text'],
  ['\u180etext\u200b\u2060\ufeff', [], '\u180etext\u200b\u2060\ufeff'],
  [' \t ', [], ''],
])

table('reverse', [
  ['gums', [], 'smug'],
  ['a😀b', [], 'b😀a'],
])
table('stripPrefix', [
  ['/api/x', ['/api'], '/x'],
  ['/api/x', ['x'], '/api/x'],
])
table('stripSuffix', [
  ['a.json', ['.json'], 'a'],
  ['a.json', ['.'], 'a.json'],
])
table('strings.quote', [
  ['\x07\b\f\n\r\t\v\\"', [], '"\\a\\b\\f\\n\\r\\t\\v\\\\\\""'],
  ["printable 😀 'single'", [], '"printable 😀 \'single\'"'],
  ['', [], '""'],
])

describe('strings that would grow without limit', () => {
  const long = 'a'.repeat(MAX_STRING)
  for (const [what, grow] of [
    ['replace', () => call('replace', long, 'a', 'bb')],
    ['replace of nothing', () => call('replace', long, '', 'b')],
    ['join', () => call('join', [long, 'b'])],
    ['join of separators', () => call('join', new Array(1000).fill(''), long)],
    ['split', () => call('split', long, '')],
    ['split', () => call('split', ','.repeat(MAX_LIST), ',')],
    ['quote', () => call('strings.quote', '"'.repeat(MAX_STRING))],
    ['format', () => call('format', '%s%s', [long, 'b'])],
    ['format of a list', () => call('format', '%s', [new Array(1000).fill(long)])],
    ['format as hex', () => call('format', '%x', [long])],
  ] as const) {
    it(`are rejected by ${what}`, () => {
      assert.equal(grow(), undefined)
      assert.match(failure.reason, /too long/)
    })
  }
})

describe('split and join', () => {
  it('are inverses of each other', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', ',', '😀', 'é') })
    fc.assert(
      fc.property(texts, fc.constantFrom('', ',', '😀', 'aa'), fc.integer(), (text, by, limit) => {
        const parts = call('split', text, by, limit) as Value[]
        if (limit !== 0) assert.equal(call('join', parts, by), text)
        if (limit > 0) assert.ok(parts.length <= limit)
      }),
    )
  })
})
