import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { encodeJson, parseJsonText } from './llm/json.ts'
import { isCrowded, lookAtLongText } from './long-json.ts'

const LONG = 'x'.repeat(70_000)
const withLong = (members: string) => `{"long":"${LONG}"${members === '' ? '' : `,${members}`}}`

describe('a long string of a provider', () => {
  for (const [what, members, expected] of [
    ['nothing else', '', 'plain'],
    ['numbers that a double holds', '"a":[1,-2.5,123456789012345,true,null]', 'plain'],
    ['escapes in values', '"a":"\\"\\\\\\u0061: 1e9"', 'plain'],
    ['what looks like names in values', '"a":"b\\\\\\":c"', 'plain'],
    ['a long number', '"a":12345678901234567', 'odd'],
    ['an exponent', '"a":[1e400]', 'odd'],
    ['a name with an escape', '"a\\u0062":1', 'odd'],
    ['a name with an escape, and space behind it', '"a\\n" \n :1', 'odd'],
    ['some thousand values', `"a":[${'0,'.repeat(30_000)}0]`, 'plain'],
    ['more', `"a":[${'0,'.repeat(40_000)}0]`, 'crowded'],
    ['more, as arrays', `"a":[${'[],'.repeat(40_000)}0]`, 'crowded'],
    ['nothing but quotes', `"a":"${'\\"'.repeat(140_000)}"`, 'crowded'],
    ['nothing but space', `"a":${' '.repeat(140_000)}1`, 'crowded'],
    ['escapes, where it is much longer', `"a":"${'\\u0061'.repeat(200_000)}"`, 'crowded'],
    ['escapes, where it is not', `"a":"${'\\u0061'.repeat(100_000)}"`, 'plain'],
    ['commas in values', `"a":"${','.repeat(200_000)}"`, 'plain'],
  ] as const) {
    it(`${what}: ${expected}`, () => {
      assert.equal(lookAtLongText(withLong(members)), expected)
      assert.equal(isCrowded(withLong(members)), expected === 'crowded')
    })
  }

  it('is parsed like a short one', () => {
    for (const members of ['"a":12345678901234567', '"a":1e400', '"a\\u0062":1', '"a":[1,"\\n"]']) {
      const written = (text: string) => {
        const { value } = parseJsonText(text)
        const { long: _, ...rest } = value as Readonly<Record<string, unknown>>
        return Buffer.from(encodeJson(rest)).toString()
      }
      assert.equal(written(withLong(members)), written(`{${members}}`))
    }
  })
})
