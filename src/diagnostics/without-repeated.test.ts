import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Diagnostic } from './diagnostic.ts'
import { withoutRepeated } from './without-repeated.ts'

const at = (line: number, column: number, text?: string, more: object = {}): Diagnostic => ({
  code: 'PC0110',
  severity: 'warning',
  message: 'this is always true',
  origin: { kind: 'file', file: 'a.yaml', line, column },
  ...(text === undefined ? {} : { excerpt: { text, start: 0, end: text.length } }),
  ...more,
})
const stored = (field: string) =>
  at(0, 0, 'true', { origin: { kind: 'object', object: 'database routes/a', field } })

describe('repeated diagnostics', () => {
  for (const [what, said, further, left] of [
    ['the same expression, at its rule', [at(9, 17, 'true')], [at(9, 9, 'true')], 0],
    ['the same in a block', [at(10, 11, 'true')], [at(9, 9, 'true')], 0],
    ['each of two', [at(1, 9, 'true'), at(5, 9, 'true')], [at(1, 1, 'true'), at(5, 1, 'true')], 0],
    ['one of two', [at(1, 9, 'true')], [at(1, 1, 'true'), at(5, 1, 'true')], 1],
    ['another expression', [at(9, 17, 'true')], [at(9, 9, '!false')], 1],
    ['another message', [at(9, 17, 'true')], [at(9, 9, 'true', { message: 'never' })], 1],
    ['another place without a text', [at(9, 17)], [at(9, 9)], 1],
    ['the same place without a text', [at(9, 9)], [at(9, 9)], 0],
    ['the same stored field', [stored('a')], [stored('a')], 0],
    ['another stored field', [stored('a')], [stored('b')], 1],
    ['nothing', [], [at(9, 9, 'true')], 1],
  ] as const) {
    it(`${what}: ${left} left`, () => {
      assert.equal(withoutRepeated(said, further).length, left)
    })
  }
})
