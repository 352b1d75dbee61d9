import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { endOfText } from './fields.ts'

describe('the end of field text', () => {
  it('is at every invalid byte, at any position', () => {
    for (let byte = 0; byte < 256; byte++) {
      const isText = byte === 9 || (byte >= 32 && byte !== 127)
      for (let at = 0; at < 70; at++) {
        const bytes = Buffer.alloc(72, 'x')
        bytes[at] = byte
        assert.equal(endOfText(bytes, 1, 71), at > 0 && !isText ? at : 71, `${byte} at ${at}`)
      }
    }
  })
  it('is at the first of several, after tabs and bytes beyond ASCII', () => {
    for (const filling of ['\t', '\x80', '\xff', '~', ' ', 'a\t', '\t\xe9b']) {
      for (let at = 0; at < 70; at++) {
        const bytes = Buffer.alloc(90, filling, 'latin1')
        bytes.fill(13, at)
        assert.equal(endOfText(bytes, 0, 90), at)
        assert.equal(endOfText(bytes, 0, at), at)
      }
    }
  })
  it('reads no byte out of range', () => {
    const bytes = Buffer.alloc(200, '\0')
    bytes.fill('x', 50, 150)
    assert.equal(endOfText(bytes.subarray(50, 150), 0, 100), 100)
    assert.equal(endOfText(bytes, 50, 149), 149)
  })
})
