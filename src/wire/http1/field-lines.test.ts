import assert from 'node:assert/strict'
import { it } from 'node:test'
import { isFieldText } from './field-lines.ts'

it('field text accepts exactly single-byte characters that are not controls', () => {
  for (let code = 0; code <= 0xffff; code++) {
    const isControl = code < 0x20 || code === 0x7f
    const isFit = code === 0x09 || (!isControl && code <= 0xff)
    const own = String.fromCharCode(code)
    for (const text of [own, `${own}a`, `a${own}`, `a${own}a`, own + own])
      assert.equal(isFieldText(text), isFit, `${code}`)
  }
  assert.equal(isFieldText(''), true)
})
