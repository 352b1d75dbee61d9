import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Allowance } from './limits.ts'
import { isPreface } from './preface.ts'

describe('HTTP/2 preface and allowances', () => {
  for (const [text, expected] of [
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', true],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore', true],
    ['PRI * HT', undefined],
    ['P', undefined],
    ['', undefined],
    ['POST / HTTP/1.1\r\n', false],
    ['PRI * HTTP/2.0\r\n\r\nXX', false],
  ] as const) {
    it(`${JSON.stringify(text)} begins HTTP/2: ${expected}`, () =>
      assert.equal(isPreface(Buffer.from(text)), expected))
  }

  it('an allowance is spent and refills up to its burst', () => {
    const allowance = new Allowance({ perSecond: 10, burst: 5 }, 0)
    for (let i = 0; i < 5; i++) assert.equal(allowance.spend(1, 0), true)
    assert.equal(allowance.spend(1, 0), false)
    assert.equal(allowance.spend(1, 300), true)
    assert.equal(allowance.spend(5, 60_000), true)
    assert.equal(allowance.spend(1, 60_000), false)
  })
})
