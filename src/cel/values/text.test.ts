import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../../test/fuzz/any-text.ts'
import {
  codePointAt,
  codePointIndexOf,
  codePointLastIndexOf,
  codePointLength,
  codePointOffset,
  codePointSlice,
  compareText,
  utf8Decode,
  utf8Encode,
} from './text.ts'

const texts = fc.string({
  unit: fc.constantFrom('a', 'b', 'é', '日', '\uffff', '\ue000', '😀', '🐱'),
})

describe('strings by code points', () => {
  it('have the length and the characters of their spread', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: -2, max: 14 }), (text, index) => {
        const characters = [...text]
        assert.equal(codePointLength(text), characters.length)
        const expected = index === characters.length ? '' : characters[index]
        assert.equal(codePointAt(text, index), index < 0 ? undefined : expected)
      }),
    )
  })

  it('are sliced as their spread is', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: -2, max: 14 }), fc.integer({ min: -2, max: 14 }), cut),
    )
    function cut(text: string, start: number, end: number) {
      const characters = [...text]
      const valid = start >= 0 && start <= end && end <= characters.length
      const expected = valid ? characters.slice(start, end).join('') : undefined
      assert.equal(codePointSlice(text, start, end), expected)
      if (start < 0) return
      const offset = start > characters.length ? -1 : characters.slice(0, start).join('').length
      assert.equal(codePointOffset(text, start), offset)
    }
  })

  it('are searched from both ends', () => {
    fc.assert(
      fc.property(texts, texts, fc.nat(14), (text, part, start) => {
        const characters = [...text]
        const search = [...part]
        const found = characters
          .concat('')
          .flatMap((_, at) => (search.every((c, i) => characters[at + i] === c) ? [at] : []))
        const first = start > characters.length ? -1 : found.find((at) => at >= start)
        assert.equal(codePointIndexOf(text, part, start), first ?? -1)
        assert.equal(
          codePointLastIndexOf(text, part, start),
          found.findLast((at) => at <= start) ?? -1,
        )
      }),
    )
  })

  it('are ordered as their UTF-8 is', () => {
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        const order = Buffer.compare(Buffer.from(a), Buffer.from(b))
        assert.equal(Math.sign(compareText(a, b)), order)
      }),
    )
  })

  it('become UTF-8 and back, byte order marks included', () => {
    fc.assert(
      fc.property(anyText(), (text) => {
        assert.equal(utf8Decode(utf8Encode(`\ufeff${text}`)), `\ufeff${text}`)
      }),
    )
  })

  for (const bytes of [
    [0xff],
    [0xc0, 0x80],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0xe2, 0x82],
  ]) {
    it(`are not ${bytes.map((byte) => byte.toString(16)).join(' ')}`, () => {
      assert.equal(utf8Decode(Uint8Array.from(bytes)), undefined)
    })
  }
})
