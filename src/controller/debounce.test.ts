import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Debounce } from './debounce.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('debouncing', () => {
  it('many signals at once are one run', async () => {
    let runs = 0
    const debounce = new Debounce(async () => void runs++, { quiet: 5, max: 1_000 })
    for (let index = 0; index < 100; index++) debounce.signal()
    while (debounce.isPending) await turn()
    assert.equal(runs, 1)
  })

  it('signals that never end do not hold it up', async () => {
    let runs = 0
    const debounce = new Debounce(async () => void runs++, { quiet: 60_000, max: 20 })
    while (runs < 3) {
      debounce.signal()
      await turn()
    }
    debounce.stop()
  })

  it('never runs twice at once, and again for what came meanwhile', async () => {
    let running = 0
    let runs = 0
    const debounce = new Debounce(
      async () => {
        assert.equal(++running, 1)
        if (runs++ === 0) debounce.signal()
        await turn()
        running--
      },
      { quiet: 1, max: 10 },
    )
    debounce.signal()
    while (runs < 2 || debounce.isPending) await turn()
    assert.equal(runs, 2)
  })
})
