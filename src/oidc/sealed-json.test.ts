import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { isCookieSecret, sealedJson } from './sealed-json.ts'

const SECRET = '00112233445566778899aabbccddeeff'.repeat(2)
const OTHER = SECRET.replace('00', '01')

describe('sealed JSON', () => {
  const sealed = sealedJson(SECRET, 'a')

  it('opens what another replica with the same secret has sealed', () => {
    const value = { text: 'ü€', list: [1, null, true], nested: { a: 'b' } }
    assert.deepEqual(sealedJson(SECRET, 'a').open(sealed.seal(value, 'p'), 'p'), value)
  })

  it('does not open with another secret, in another context or for another purpose', () => {
    const text = sealed.seal({ a: 1 }, 'p')
    assert.equal(sealedJson(OTHER, 'a').open(text, 'p'), undefined)
    assert.equal(sealedJson(SECRET, 'b').open(text, 'p'), undefined)
    assert.equal(sealed.open(text, 'q'), undefined)
    assert.equal(sealed.open(text, ''), undefined)
  })

  it('does not open if any bit was changed', () => {
    const bytes = Buffer.from(sealed.seal({ a: 1 }, 'p'), 'base64url')
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const changed = Buffer.from(bytes)
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7))
      assert.equal(sealed.open(changed.toString('base64url'), 'p'), undefined, `bit ${bit}`)
    }
  })

  it('does not open if it was cut or extended, or encoded in another way', () => {
    const text = sealed.seal({ a: 1 }, 'p')
    for (let length = 0; length < text.length; length++) {
      assert.equal(sealed.open(text.slice(0, length), 'p'), undefined, `${length} characters`)
    }
    for (const other of [
      `${text}A`,
      `${text}=`,
      ` ${text}`,
      `${text}\n`,
      `${text.slice(0, 8)}.${text.slice(8)}`,
    ]) {
      assert.equal(sealed.open(other, 'p'), undefined, JSON.stringify(other))
    }
  })

  it('gives equal values different texts, and reveals nothing of them', () => {
    const texts = [1, 2].map(() => sealed.seal({ name: 'alice' }, 'p'))
    assert.notEqual(texts[0], texts[1])
    for (const text of texts) {
      assert.match(text, /^[\w-]+$/)
      assert.ok(!Buffer.from(text, 'base64url').toString('latin1').includes('alice'))
    }
  })
})

describe('a cookie secret', () => {
  for (const [what, text, isGood] of [
    ['64 digits', SECRET, true],
    ['64 digits, some of which are capital letters', SECRET.toUpperCase(), true],
    ['63 digits', SECRET.slice(1), false],
    ['65 digits', `${SECRET}0`, false],
    ['a line end after it', `${SECRET}\n`, false],
    ['a letter that is no digit', SECRET.replace('a', 'g'), false],
    ['seven different digits', '0123456'.padEnd(64, '0'), true],
    ['six different digits', '012345'.padEnd(64, '0'), false],
    ['six different digits, counting both cases', '0123aAbB'.padEnd(64, '0'), false],
    ['nothing', '', false],
  ] as const) {
    it(`${isGood ? 'can' : 'cannot'} have ${what}`, () => {
      assert.equal(isCookieSecret(text), isGood)
    })
  }
})
