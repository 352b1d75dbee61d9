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

  it('an eager one runs at once for a first signal, and waits for those that follow', async () => {
    const seen: number[] = []
    let signals = 0
    // Nobody waits a minute here: what runs, runs at once.
    const debounce = new Debounce(async () => void seen.push(signals), {
      quiet: 60_000,
      max: 120_000,
      isEager: true,
    })
    for (signals = 1; signals < 3; signals++) debounce.signal()
    await turn()
    await turn()
    assert.deepEqual(seen, [3])
    debounce.signal()
    for (let index = 0; index < 20; index++) await turn()
    assert.deepEqual(seen, [3])
    assert.ok(debounce.isPending)
    debounce.stop()
  })

  it('an eager one is eager again after a pause, and is not starved by signals that never end', async () => {
    let runs = 0
    const debounce = new Debounce(async () => void runs++, { quiet: 1, max: 5, isEager: true })
    for (let count = 1; count <= 3; count++) {
      const resumed = performance.now() + 2
      while (performance.now() < resumed) await turn()
      debounce.signal()
      await turn()
      await turn()
      assert.equal(runs, count)
    }
    while (runs < 10) {
      debounce.signal()
      await turn()
    }
    debounce.stop()
  })

  it('stopped before its turn, it does not run', async () => {
    let runs = 0
    const debounce = new Debounce(async () => void runs++, { quiet: 1, max: 5, isEager: true })
    debounce.signal()
    debounce.stop()
    for (let index = 0; index < 5; index++) await turn()
    assert.equal(runs, 0)
  })
})
