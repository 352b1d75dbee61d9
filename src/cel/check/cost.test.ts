import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { compile } from '../compile.ts'
import { STAGES } from '../stages.ts'

/** Two loops over lists of the request: 65,536 turns, which is affordable once, but not per turn. */
const COSTLY = 'jwt.a.exists(a, jwt.b.exists(b, b == a))'
const CHEAP = 'jwt.a.exists(a, a == 1)'

const isAffordable = (text: string) => {
  const codes = compile(text, STAGES.traffic).diagnostics.map(({ code }) => code)
  assert.ok(codes.every((code) => code === 'PC0113'))
  return codes.length === 0
}

describe('the cost of an expression', () => {
  for (const [where, write] of [
    ['the condition of a loop', (own) => `jwt.c.all(c, ${own})`],
    ['the filter of a loop', (own) => `jwt.c.filter(c, ${own}) == []`],
    ['the condition of map()', (own) => `jwt.c.map(c, ${own}, c) == []`],
    ['the result of map()', (own) => `jwt.c.map(c, [${own}]) == []`],
    ['the keys of an object', (own) => `jwt.c.exists(key, value, ${own} && key == value)`],
    ['an argument within a loop', (own) => `jwt.c.exists(c, [1].filter(d, ${own}).size() == c)`],
    ['a branch within a loop', (own) => `jwt.c.exists(c, c == 1 ? ${own} : ${own})`],
    ['the range of a loop within a loop', (own) => `jwt.c.all(c, [${own}].exists(d, d))`],
    ['a loop over the result of a loop', (own) => `jwt.c.map(c, c).all(c, ${own})`],
    ['a loop over the filtered list', (own) => `jwt.c.filter(c, c > 1).all(c, ${own})`],
  ] as [string, (own: string) => string][]) {
    it(`counts each turn: ${where}`, () => {
      assert.ok(isAffordable(COSTLY))
      assert.ok(isAffordable(write(CHEAP)), write(CHEAP))
      assert.ok(!isAffordable(write(COSTLY)), write(COSTLY))
    })
  }

  for (const [where, text] of [
    ['side by side', `${COSTLY} && !(${COSTLY}) || ${COSTLY}`],
    ['in a range, which is evaluated once', `[${COSTLY}].all(c, c)`],
    ['in a loop over a list of constants', `['a', 'b'].all(c, ${COSTLY} && c != '')`],
    ['in a loop over a list that is written', `[jwt.c, jwt.d].all(c, ${COSTLY} && c != '')`],
    ['in a loop over as many elements', `['a', 'b'].map(c, c).all(c, ${COSTLY} && c != '')`],
  ] as const) {
    it(`is affordable ${where}`, () => assert.ok(isAffordable(text), text))
  }

  it('is not affordable in a loop over a long list that is written', () => {
    const list = (length: number) => `[${Array.from({ length }, (_, n) => n).join()}]`
    assert.ok(isAffordable(`${list(5)}.all(c, ${COSTLY} && c > -1)`))
    assert.ok(!isAffordable(`${list(100)}.all(c, ${COSTLY} && c > -1)`))
    assert.ok(!isAffordable(`${list(100)}.map(c, c).all(c, ${COSTLY} && c > -1)`))
  })
})
