import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Load } from './load.ts'

describe('load', () => {
  it('admits requests up to the limit, and one for each that ends', () => {
    const load = new Load({ requests: 2, delay: 0 })
    assert.deepEqual([load.begin(), load.begin(), load.begin()], [undefined, undefined, 'requests'])
    load.end()
    load.end()
    assert.equal(load.begin(), undefined)
    assert.equal(load.underWay, 2)
  })

  it('does not count up to three long turns as overload', () => {
    const load = new Load({ requests: 10, delay: 100 }, () => 1)
    for (const late of [5_000, 5_000, 5_000, 0]) load.look(late)
    assert.equal(load.begin(), undefined)
  })

  for (const [late, share] of [
    [99, 0],
    [100, 0],
    [200, 0.5],
    [400, 0.75],
    [10_000, 0.99],
  ] as const) {
    it(`always ${late} ms late where 100 are allowed: ${share} of the requests are shed`, () => {
      let at = 0
      const load = new Load({ requests: 10_000, delay: 100 }, () => (at++ % 1_000) / 1_000)
      for (let i = 0; i < 4; i++) load.look(late)
      const shed = Array.from({ length: 1_000 }, () => load.begin()).filter((it) => it === 'delay')
      assert.ok(Math.abs(shed.length / 1_000 - share) < 0.002, String(shed.length))
    })
  }

  it('admits requests again after one turn on time', () => {
    const load = new Load({ requests: 10, delay: 100 }, () => 1)
    for (let i = 0; i < 8; i++) load.look(1_000)
    assert.equal(load.begin(), 'delay')
    load.look(0)
    assert.equal(load.begin(), undefined)
  })

  it('never sheds for delay without a limit', () => {
    const load = new Load({ requests: 10, delay: 0 }, () => 1)
    for (let i = 0; i < 4; i++) load.look(60_000)
    assert.equal(load.begin(), undefined)
  })
})
