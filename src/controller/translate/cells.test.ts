import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Cell, Cells } from './cells.ts'

describe('cells', () => {
  it('have the value of their sources, and compute no more often than those change', () => {
    // Each level reads some of the level below: sources, shared values, cells.
    const reads = fc.array(fc.subarray([0, 1, 2, 3]), { minLength: 4, maxLength: 4 })
    const step = fc.record({ source: fc.nat(3), value: fc.nat(3), asked: fc.nat(3) })
    fc.assert(
      fc.property(reads, reads, fc.array(step, { maxLength: 20 }), (below, above, steps) => {
        const cells = new Cells()
        const values = [0, 0, 0, 0]
        const parity = (at: number) =>
          (below[at] ?? []).reduce((sum, source) => sum + (values[source] ?? 0), 0) % 2
        const plain = (at: number) => (above[at] ?? []).map(parity).join('')
        const counts = new Map<string, number>()
        const count = (name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1)
        /** How often each shared value changed, as far as anything asked for it. */
        const changes = [0, 0, 0, 0]
        const latest: (number | undefined)[] = []
        const shared = (at: number) => {
          const compute = () => {
            for (const source of below[at] ?? []) cells.read(`${source}`)
            const value = parity(at)
            if (latest[at] !== value) changes[at] = (changes[at] ?? 0) + 1
            latest[at] = value
            return value
          }
          return cells.shared(`${at}`, compute, Object.is)
        }
        const top = [0, 1, 2, 3].map((at) => {
          const compute = () => {
            count(`cell ${at}`)
            return (above[at] ?? []).map(shared).join('')
          }
          return new Cell(cells, compute)
        })
        /** The changes that each cell has seen. */
        const seen = new Map<string, string>()
        for (const { source, value, asked } of [{ source: 0, value: 0, asked: 0 }, ...steps]) {
          if (values[source] !== value) {
            values[source] = value
            cells.touch(`${source}`)
          }
          counts.clear()
          assert.equal(top[asked]?.get(), plain(asked))
          const name = `cell ${asked}`
          const read = (above[asked] ?? []).map((at) => changes[at]).join()
          assert.equal(counts.get(name) ?? 0, seen.get(name) === read ? 0 : 1, name)
          seen.set(name, read)
        }
        counts.clear()
        for (const [at, cell] of top.entries()) assert.equal(cell.get(), plain(at))
        counts.clear()
        for (const cell of top) cell.get()
        assert.equal(counts.size, 0)
      }),
      { numRuns: 300, seed: 26 },
    )
  })

  it('report once that they may be out of date, until they are asked again', () => {
    const cells = new Cells()
    let stale = 0
    const compute = () => {
      cells.read('source')
      return 1
    }
    const cell = new Cell(cells, compute, Object.is, () => stale++)
    cell.get()
    cells.touch('other')
    assert.equal(stale, 0)
    cells.touch('source')
    cells.touch('source')
    assert.equal(stale, 1)
    cell.get()
    cells.touch('source')
    assert.equal(stale, 2)
    cell.get()
    cell.drop()
    cells.touch('source')
    assert.equal(stale, 2)
  })

  it('forget shared values that nothing reads any more', () => {
    const cells = new Cells()
    let count = 0
    let reads = true
    const shared = () => {
      const compute = () => {
        cells.read('inner')
        return ++count
      }
      return cells.shared('x', compute, Object.is)
    }
    const cell = new Cell(cells, () => {
      cells.read('source')
      return reads ? shared() : 0
    })
    assert.equal(cell.get(), 1)
    cells.sweep()
    cells.touch('source')
    assert.equal(cell.get(), 1, 'it is still read')
    reads = false
    cells.touch('source')
    assert.equal(cell.get(), 0)
    reads = true
    cells.touch('source')
    assert.equal(cell.get(), 1, 'it was not swept')
    reads = false
    cells.touch('source')
    cell.get()
    cells.sweep()
    reads = true
    cells.touch('source')
    assert.equal(cell.get(), 2)
  })

  it('keep what they depend on if they throw', () => {
    const cells = new Cells()
    let isBroken = true
    const cell = new Cell(cells, () => {
      cells.read('source')
      if (isBroken) throw new Error('broken')
      return 1
    })
    assert.throws(() => cell.get(), /broken/)
    assert.equal(cells.current, undefined)
    assert.throws(() => cell.get(), /broken/)
    isBroken = false
    assert.equal(cell.get(), 1)
  })
})
