import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../test/fuzz/any-text.ts'
import { MAX_VALUE, quote } from './escape.ts'

describe('quoted text', () => {
  for (const [name, text, quoted] of [
    ['plain', 'a b=c', '"a b=c"'],
    ['empty', '', '""'],
    ['quotes and backslashes', '"\\', '"\\"\\\\"'],
    ['line ends', 'a\r\nb', '"a\\r\\nb"'],
    ['an escape sequence', '\u001b[2J', '"\\u001b[2J"'],
    ['NUL and DEL', '\0\x7f', '"\\u0000\\u007f"'],
    ['C1: a terminal takes U+009B for an escape sequence', '\u009b2J', '"\\u009b2J"'],
    ['next line', 'a\u0085b', '"a\\u0085b"'],
    ['line and paragraph separators', '\u2028\u2029', '"\\u2028\\u2029"'],
    ['direction marks', '\u202eabc\u2066\u200f', '"\\u202eabc\\u2066\\u200f"'],
    ['zero-width characters', 'a\u200bb\ufeff\u2060', '"a\\u200bb\\ufeff\\u2060"'],
    ['tags, which hide text', 'a\u{e0041}', '"a\\udb40\\udc41"'],
    ['soft hyphen', 'a\u00adb', '"a\\u00adb"'],
    ['a lone surrogate', 'a\ud800b', '"a\\ud800b"'],
    ['letters of the world', 'Grüße 日本 🙂', '"Grüße 日本 🙂"'],
  ] as const) {
    it(name, () => assert.equal(quote(text), quoted))
  }

  it('is JSON of the same text, without invisible characters', () => {
    fc.assert(
      fc.property(hostileText(), (text) => {
        const quoted = quote(text)
        assert.equal(JSON.parse(quoted), text)
        assert.ok(quoted.isWellFormed())
        assert.doesNotMatch(quoted, /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
      }),
      { numRuns: 150 },
    )
  })

  it('is truncated if too long, even within a surrogate pair', () => {
    const quoted = quote('🙂'.repeat(MAX_VALUE))
    const text = JSON.parse(quoted) as string
    assert.equal(text.length, MAX_VALUE)
    assert.ok(text.endsWith('…'))
  })
})

function hostileText(): fc.Arbitrary<string> {
  const hostile = fc.constantFrom(
    ...['\n', '\r', '\t', '\u001b', '\u0085', '\u009b', '\u2028', '\u202e', '\u200d', '\ufeff'],
    ...['"', '\\', '=', ' ', '\ud800', '\udc00', '\u{e0020}', '\0', '\x7f'],
  )
  const unit = fc.oneof(anyText({ maxLength: 4 }), hostile)
  return fc.array(unit, { maxLength: 20 }).map((parts) => parts.join(''))
}
