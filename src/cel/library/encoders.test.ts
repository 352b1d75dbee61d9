import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { failure } from '../values/failure.ts'
import { MAX_STRING } from '../values/fuel.ts'
import { utf8Encode } from '../values/text.ts'
import { ENCODERS } from './encoders.ts'
import { caller } from './test-call.ts'

const call = caller(ENCODERS)
const hello = utf8Encode('hello')

describe('encoders', () => {
  for (const [name, argument, expected] of [
    ['base64.encode', hello, 'aGVsbG8='],
    ['base64.encode', 'hello', 'aGVsbG8='],
    ['base64Encode', 'hello', 'aGVsbG8='],
    ['base64.decode', 'aGVsbG8=', hello],
    ['base64.decode', 'aGVsbG8', hello],
    ['base64.decode', 'aGVs\r\nbG8=', hello],
    ['base64Decode', 'aGVsbG8', hello],
    ['base64.decode', '', new Uint8Array()],
    ['base64.decode', 'aGVs bG8=', undefined],
    ['base64.decode', 'aGVsbG8==', undefined],
    ['base64.decode', 'a', undefined],
    ['base64.decode', '-_-_', undefined],
    ['base64.decode', 'é', undefined],
    ['hex.encode', Uint8Array.of(0, 255), '00ff'],
    ['hex.decode', '00fF', Uint8Array.of(0, 255)],
    ['hex.decode', '0', undefined],
    ['hex.decode', '0g', undefined],
  ] as const) {
    it(`${name}(${argument}): ${expected ?? 'an error'}`, () => {
      failure.reason = ''
      assert.deepEqual(call(name, argument), expected)
      assert.equal(failure.reason !== '', expected === undefined)
    })
  }

  it('decode their own output', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        for (const name of ['base64', 'hex']) {
          const text = call(`${name}.encode`, bytes) as string
          assert.deepEqual(call(`${name}.decode`, text), bytes)
        }
        assert.equal(call('base64.encode', bytes), Buffer.from(bytes).toString('base64'))
      }),
    )
  })

  it('fail beyond the maximum string size', () => {
    const large = new Uint8Array(MAX_STRING)
    assert.equal(call('base64.encode', large), undefined)
    assert.equal(call('hex.encode', large), undefined)
  })
})
