import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { anyText } from '../../../test/fuzz/any-text.ts'
import { fuel } from '../values/fuel.ts'
import { HASH } from './hash.ts'
import { caller } from './test-call.ts'

const call = caller(HASH)
const NAMES = ['sha256', 'sha1', 'md5']

describe('hashes', () => {
  for (const [name, hex] of [
    ['sha256', '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'],
    ['sha1', 'aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d'],
    ['md5', '5d41402abc4b2a76b9719d911017c592'],
  ] as const) {
    it(`${name} of hello is ${hex}`, () => {
      assert.equal(call(`${name}.encode`, 'hello'), hex)
      assert.deepEqual(call(`hash.${name}`, 'hello'), new Uint8Array(Buffer.from(hex, 'hex')))
    })
  }

  it('equal those of the platform for any bytes and strings', () => {
    const bytes = fc.uint8Array({ maxLength: 300, size: 'max' })
    fc.assert(
      fc.property(bytes, anyText(), (data, text) => {
        for (const name of NAMES) {
          const expected = createHash(name).update(data).digest('hex')
          assert.equal(call(`${name}.encode`, data), expected)
          assert.equal(
            Buffer.from(call(`hash.${name}`, data) as Uint8Array).toString('hex'),
            expected,
          )
          assert.equal(call(`${name}.encode`, text), createHash(name).update(text).digest('hex'))
        }
      }),
      { numRuns: 300 },
    )
  })

  it('equal those of the platform around block boundaries', () => {
    for (let length = 0; length < 200; length++) {
      const data = new Uint8Array(length).fill(length)
      for (const name of NAMES) {
        assert.equal(call(`${name}.encode`, data), createHash(name).update(data).digest('hex'))
      }
    }
  })

  it('cost is charged by block', () => {
    fuel.left = 0
    call('hash.sha256', new Uint8Array(64 * 100))
    const hundred = fuel.left
    call('hash.sha256', new Uint8Array(64 * 200))
    assert.ok(hundred < 0 && fuel.left - hundred < hundred * 1.9)
  })

  it('accept only bytes and strings', () => {
    assert.equal(call('hash.sha256', 1), undefined)
    assert.equal(call('md5.encode', ['a']), undefined)
  })
})
