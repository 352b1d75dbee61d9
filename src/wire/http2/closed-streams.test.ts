import assert from 'node:assert/strict'
import { it } from 'node:test'
import { ClosedStreams } from './closed-streams.ts'

it('the last 256 closed streams are known, with the side that ended them', () => {
  const closed = new ClosedStreams()
  assert.equal(closed.find(1), undefined)
  for (let count = 0; count < 1_000; count++) {
    const id = 1 + 2 * count
    closed.note(id, count % 3 === 0 ? 'cut' : 'over')
    for (const age of [0, 1, 2, 100, 254, 255, 256, 257]) {
      const other = count - age
      if (other < 0) continue
      const closing = other % 3 === 0 ? 'cut' : 'over'
      const expected = age > 255 ? undefined : closing
      assert.equal(closed.find(1 + 2 * other), expected, `${other} after ${count}`)
    }
    assert.equal(closed.find(id + 2), undefined)
  }
})
