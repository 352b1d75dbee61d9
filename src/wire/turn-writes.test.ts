import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NextTurn, TurnWrites } from './turn-writes.ts'

const nextTurn = () => new Promise(setImmediate)

describe('writes at the end of a turn', () => {
  it('are sent in order, after all code of the turn', async () => {
    const writes = new TurnWrites()
    const left: number[] = []
    for (const one of [1, 2, 3]) writes.add({ leave: () => left.push(one) })
    await Promise.resolve()
    assert.deepEqual(left, [])
    await nextTurn()
    assert.deepEqual(left, [1, 2, 3])
  })

  it('wait for a bounded number of others only', async () => {
    const writes = new TurnWrites()
    const left: number[] = []
    for (let one = 0; one < 40; one++) writes.add({ leave: () => left.push(one) })
    assert.ok(left.length >= 32, `${left.length} have left`)
    await nextTurn()
    assert.deepEqual(
      left,
      Array.from({ length: 40 }, (_, one) => one),
    )
  })

  it('are sent if one of them adds more', async () => {
    const writes = new TurnWrites()
    const left: string[] = []
    const leave = () => {
      left.push('first')
      writes.add({ leave: () => left.push('more') })
    }
    writes.add({ leave })
    await nextTurn()
    await nextTurn()
    assert.deepEqual(left, ['first', 'more'])
  })

  it('are sent in order, each once, if one of them adds more than may wait', async () => {
    const writes = new TurnWrites()
    const left: number[] = []
    const add = (one: number) => writes.add({ leave: () => left.push(one) })
    const many = () => {
      left.push(0)
      for (let one = 3; one < 40; one++) add(one)
    }
    writes.add({ leave: many })
    add(1)
    add(2)
    for (let turns = 0; turns < 3; turns++) await nextTurn()
    assert.deepEqual(
      left,
      Array.from({ length: 40 }, (_, one) => one),
    )
  })

  it('are sent even if the write that added them throws', async () => {
    const writes = new TurnWrites()
    const left: string[] = []
    const thrown = new Error('planted')
    const fail = () => {
      writes.add({ leave: () => left.push('added') })
      throw thrown
    }
    for (let others = 0; others < 14; others++) writes.add({ leave: () => left.push('before') })
    writes.add({ leave: fail })
    assert.throws(() => writes.add({ leave: () => left.push('behind') }), thrown)
    await nextTurn()
    assert.deepEqual(left.slice(14), ['behind', 'added'])
  })

  it('are sent even if another one throws', async () => {
    const writes = new TurnWrites()
    const left: string[] = []
    for (let others = 0; others < 15; others++) writes.add({ leave: () => left.push('before') })
    const thrown = new Error('planted')
    const fail = () => {
      throw thrown
    }
    // The sixteenth, so that it throws here and not in the event loop.
    assert.throws(() => writes.add({ leave: fail }), thrown)
    writes.add({ leave: () => left.push('after') })
    await nextTurn()
    assert.equal(left.filter((word) => word === 'before').length, 15)
    assert.deepEqual(left.slice(15), ['after'])
  })

  it('are sent at once while turns add few, until they add many again', async () => {
    const writes = new TurnWrites()
    let left = 0
    const one = { leave: () => left++ }
    const add = (count: number) => {
      for (let added = 0; added < count; added++) writes.add(one)
    }
    for (let turn = 0; turn < 8; turn++) {
      assert.equal(writes.gathers, true)
      add(7)
      await nextTurn()
    }
    assert.equal(writes.gathers, false)
    assert.equal(left, 56)
    add(1)
    assert.equal(left, 57)
    for (let added = 0; added < 200 && !writes.gathers; added++) writes.add(one)
    assert.equal(writes.gathers, true)
    const before = left
    add(7)
    assert.equal(left, before)
    await nextTurn()
    assert.equal(left, before + 8)
    assert.equal(writes.gathers, true)
  })
})

describe('tasks of the next turn', () => {
  it('run after all pending reads, and their writes are sent in the same turn', async () => {
    const writes = new TurnWrites()
    const next = new NextTurn(writes)
    const told: string[] = []
    const add = (word: string) =>
      next.add(() => {
        told.push(word)
        writes.add({ leave: () => told.push(`${word} left`) })
      })
    add('first')
    add('second')
    await nextTurn()
    assert.deepEqual(told, [])
    add('later')
    await nextTurn()
    assert.deepEqual(told, ['first', 'second', 'first left', 'second left'])
    await nextTurn()
    assert.deepEqual(told.slice(4), ['later', 'later left'])
  })

  it('run even if another one throws', () => {
    const writes = new TurnWrites()
    const done: string[] = []
    const pending: (() => void)[] = []
    const next = new NextTurn(writes, (run) => pending.push(run))
    next.add(() => {
      throw new Error('planted')
    })
    next.add(() => done.push('another'))
    pending.shift()?.()
    assert.throws(() => pending.shift()?.(), /planted/)
    pending.shift()?.()
    assert.deepEqual(done, ['another'])
  })
})
