import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compile, type Variables } from '../index.ts'
import { STAGES } from '../stages.ts'

const CLAIMS = {
  list: [3, 1, 2, 1],
  words: ['b', 'a'],
  mixed: [1, 'a'],
  text: 'ab-12-cd-3',
  none: [],
}
const VARIABLES = { jwt: CLAIMS, request: { path: '/v1/users/42' } } as unknown as Variables

/** Each is true, both for values of known types and for values of unknown types. */
const TRUE = [
  '[1, 2, 3].sum() == 6 && jwt.list.sum() == 7',
  '[1.5, 2.0].sum() == 3.5 && [1u, 2u].sum() == 3u',
  "[duration('1s'), duration('2s')].sum() == duration('3s')",
  'jwt.none.sum() == 0 && [].sum() == 0',
  'jwt.list.min() == 1 && jwt.list.max() == 3',
  "jwt.words.min() == 'a' && ['b', 'a'].max() == 'b'",
  "jwt.list.indexOf(1) == 1 && jwt.list.lastIndexOf(1) == 3 && jwt.list.indexOf('x') == -1",
  "[1, 2].indexOf(2) == 1 && 'abc'.indexOf('c') == 2 && jwt.text.indexOf('-') == 2",
  "jwt.text.find('[0-9]+') == '12' && jwt.text.find('x+') == ''",
  "jwt.text.findAll('[0-9]+') == ['12', '3'] && jwt.text.findAll('[0-9]+', 1) == ['12']",
  "request.path.findAll('[a-z]*') == ['', 'v', '', 'users', '', '', '']",
  "regex.extract(request.path, '/users/([0-9]+)').orValue('') == '42'",
  "regex.extract(request.path, '[0-9]+').value() == '1'",
  "!regex.extract(request.path, '/groups/([0-9]+)').hasValue()",
  "regex.extractAll(jwt.text, '([a-z]+)-') == ['ab', 'cd']",
  "regex.replace(jwt.text, '[0-9]+', '#') == 'ab-#-cd-#'",
  "regex.replace(jwt.text, '([a-z])([a-z])', r'\\2\\1', 1) == 'ba-12-cd-3'",
  "regex.replace('a.b', '[.]', r'\\\\') == r'a\\b'",
  "regex.replace('abc', '', '-') == '-a-b-c-'",
  "jwt.list.contains(3) && !jwt.list.contains(9) && jwt.words.contains('a')",
  "['a', 'b'].contains('a') && {'k': 1}.contains('k') && !{'k': 1}.contains('x')",
  "jwt.contains('list') && jwt.text.contains('12') && !jwt.text.contains('13')",
  "jwt.mixed.contains('a') && jwt.mixed.contains(1)",
] as const

const ERRORS = [
  'jwt.none.min() == 1',
  'jwt.mixed.max() == 1',
  'jwt.mixed.sum() == 1',
  'jwt.words.sum() == 1',
  "jwt.text.find('(') == ''",
  "regex.extract(jwt.text, '(a)(b)').hasValue()",
  "regex.replace(jwt.text, '(a)', r'\\2') == ''",
  "regex.replace(jwt.text, '(a)', r'\\x') == ''",
  "jwt.list.sum().contains('x')",
  'jwt.text.contains(1)',
] as const

describe('searches and sums', () => {
  for (const [texts, wanted] of [
    [TRUE, true],
    [ERRORS, undefined],
  ] as const) {
    for (const text of texts) {
      it(`${text} is ${wanted ?? 'an error'}`, () => {
        for (const backend of ['generated', 'closures'] as const) {
          const { expression } = compile(text, STAGES.traffic, { backend })
          if (wanted === undefined && expression === undefined) return
          assert.equal(expression?.evaluate()(VARIABLES), wanted, backend)
          assert.equal(expression?.predicate()(VARIABLES), wanted === true, backend)
          assert.equal(expression?.explain(VARIABLES).value, wanted, 'explain')
        }
      })
    }
  }
})

describe('constant arguments that a regular expression does not have', () => {
  for (const [text, message] of [
    ["regex.replace(jwt.text, '(a)', r'\\2') == ''", /unknown group: \\2/],
    ["regex.replace(jwt.text, 'a+', r'\\1', 1) == ''", /unknown group: \\1/],
    ["regex.replace(jwt.text, '(a)', r'\\x') == ''", /invalid replacement/],
    ["regex.extract(jwt.text, '(a)(b)').hasValue()", /more than one group/],
    ["regex.extractAll(jwt.text, '(a)(b)').size() == 1", /more than one group/],
  ] as const) {
    it(`${text}: an error when it is loaded, not a rule that never matches`, () => {
      const [one, ...more] = compile(text, STAGES.traffic).diagnostics
      assert.deepEqual([one?.severity, one?.code, more], ['error', 'PC0112', []])
      assert.match(one?.message ?? '', message)
    })
  }

  it('what is not constant is looked at when it is evaluated', () => {
    const { diagnostics } = compile(
      "regex.replace(jwt.text, '(a)', jwt.text) == ''",
      STAGES.traffic,
    )
    assert.deepEqual(diagnostics, [])
  })
})
