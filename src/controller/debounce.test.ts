import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Debounce } from './debounce.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('Debounce', () => {
  it('merges simultaneous signals into one run', async () => {
    let runs = 0
    const debounce = new Debounce(async () => void runs++, { quiet: 5, max: 1_000 })
    for (let index = 0; index < 100; index++) debounce.signal()
    while (debounce.isPending) await turn()
    assert.equal(runs, 1)
  })

  it('is not delayed forever by continuous signals', async () => {
    let runs = 0
    const debounce = new Debounce(async () => void runs++, { quiet: 60_000, max: 20 })
    while (runs < 3) {
      debounce.signal()
      await turn()
    }
    debounce.stop()
  })

  it('never runs concurrently, and runs again for signals during a run', async () => {
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

  it('when eager, runs at once for a first signal, and delays those that follow by two run times', async () => {
    const seen: number[] = []
    let signals = 0
    const run = async () => {
      const end = performance.now() + 40
      while (performance.now() < end) await turn()
      seen.push(signals)
    }
    // The test does not wait for the minute to pass.
    const debounce = new Debounce(run, { quiet: 60_000, max: 120_000, isEager: true })
    for (signals = 1; signals < 3; signals++) debounce.signal()
    while (seen.length === 0) await turn()
    assert.deepEqual(seen, [3])
    const began = performance.now()
    debounce.signal()
    while (seen.length === 1) await turn()
    const took = performance.now() - began
    // The wait, and the run itself.
    assert.ok(took >= 2 * 40 + 40 - 2 && took < 30_000, `${took} ms`)
    debounce.stop()
  })

  it('when eager and quick, does not wait for signals to end', async () => {
    let runs = 0
    const debounce = new Debounce(async () => void runs++, {
      quiet: 60_000,
      max: 120_000,
      isEager: true,
    })
    while (runs < 10) {
      debounce.signal()
      await turn()
    }
    debounce.stop()
  })

  it('when eager, is eager again after a pause, and is not starved by continuous signals', async () => {
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

  it('does not run if stopped before its turn', async () => {
    let runs = 0
    const debounce = new Debounce(async () => void runs++, { quiet: 1, max: 5, isEager: true })
    debounce.signal()
    debounce.stop()
    for (let index = 0; index < 5; index++) await turn()
    assert.equal(runs, 0)
  })
})
