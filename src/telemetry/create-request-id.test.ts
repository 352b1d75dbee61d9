import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRequestId } from './create-request-id.ts'
import { randomHex } from './random.ts'

describe('request ids', () => {
  it('are UUIDs of version 7 with the current time', () => {
    const before = Date.now()
    const id = createRequestId()
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    const time = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
    assert.ok(time >= before && time <= Date.now())
  })

  for (const [milliseconds, prefix] of [
    [0, '00000000-0000-7'],
    [1_645_557_742_000, '017f22e2-79b0-7'],
    [2 ** 48 - 1, 'ffffffff-ffff-7'],
  ] as const) {
    it(`of ${milliseconds} begin with ${prefix}`, () => {
      assert.equal(createRequestId(milliseconds).slice(0, 15), prefix)
    })
  }

  it('differ, even within a millisecond', () => {
    const ids = Array.from({ length: 20_000 }, () => createRequestId(1))
    assert.equal(new Set(ids).size, ids.length)
  })

  it('sort by time', () => {
    const ids = [1, 256, 65_536, 1e9, 1.7e12].map((time) => createRequestId(time))
    assert.deepEqual(ids.toSorted(), ids)
  })

  it('have uniformly distributed random digits', () => {
    const digits = Array.from({ length: 8000 }, () => createRequestId(1))
    for (let at = 15; at < 36; at++) {
      if (at === 18 || at === 23) continue
      const counts = new Map<string, number>()
      for (const id of digits) counts.set(id[at] as string, (counts.get(id[at] as string) ?? 0) + 1)
      const wanted = 8000 / (at === 19 ? 4 : 16)
      for (const count of counts.values()) assert.ok(Math.abs(count - wanted) < wanted * 0.35)
      assert.equal(counts.size, at === 19 ? 4 : 16)
    }
  })
})

describe('random digits', () => {
  it('have the requested length, and never repeat', () => {
    const seen = new Set<string>()
    for (let i = 0; i < 5000; i++) {
      const id = randomHex((i % 16) + 8)
      assert.match(id, /^[0-9a-f]+$/)
      assert.equal(id.length, ((i % 16) + 8) * 2)
      seen.add(id.slice(0, 16))
    }
    assert.equal(seen.size, 5000)
  })
})
