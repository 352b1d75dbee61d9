import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compile, STAGES, type Variables } from '../index.ts'
import { conditionsOf } from './conditions.ts'
import { readValue } from './read-value.ts'

const VARIABLES = {
  jwt: { sub: 'alice', roles: ['a', 'b'], realm: { name: 'x' } },
} as unknown as Variables

function conditions(text: string) {
  const { expression, diagnostics } = compile(text, STAGES.traffic)
  if (expression === undefined) assert.fail(JSON.stringify(diagnostics))
  return conditionsOf(expression.explain(VARIABLES), text)
}

describe('the conditions of a rule', () => {
  for (const [text, expected] of [
    ["jwt.sub == 'bob'", ["jwt.sub == 'bob' false jwt.sub='alice'"]],
    [
      "jwt.sub == 'alice' && (jwt.realm.name == 'y' || !has(jwt.group))",
      [
        "jwt.sub == 'alice' true jwt.sub='alice'",
        "jwt.realm.name == 'y' false jwt.realm.name='x'",
        'has(jwt.group) false',
      ],
    ],
    ["'b' in jwt.roles", ["'b' in jwt.roles true jwt.roles=['a', 'b']"]],
    ["jwt.group == 'eng'", ["jwt.group == 'eng' undefined jwt.group=undefined missing"]],
    ["jwt.roles.exists(r, r == 'c')", ["jwt.roles.exists(r, r == 'c') false jwt.roles=['a', 'b']"]],
    [
      "jwt.sub == 'x' ? true : jwt.sub == 'alice'",
      ["jwt.sub == 'x' false jwt.sub='alice'", "jwt.sub == 'alice' true jwt.sub='alice'"],
    ],
  ] as const) {
    it(text, () => {
      const found = conditions(text).map(({ text: own, value, cause, operands }) => {
        const looked = operands.map((one) => `${one.text}=${one.value}`)
        const why = cause === undefined ? [] : [cause.kind]
        return [own, String(value), ...looked, ...why].join(' ')
      })
      assert.deepEqual(found, expected)
    })
  }
})

describe('an attribute', () => {
  for (const [text, expected] of [
    ["jwt.sub == ''", 'alice'],
    ["jwt.realm.name == ''", 'x'],
    ["jwt.group == ''", undefined],
    ["apiKey.owner == ''", undefined],
    ["jwt.constructor == ''", undefined],
  ] as const) {
    it(`of ${text} is read as it is`, () => {
      const { expression } = compile(text, STAGES.traffic)
      const [read] = expression?.reads ?? []
      assert.ok(read)
      assert.equal(readValue(read, VARIABLES), expected)
    })
  }
})
