import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { Deadlines, type Timed } from './deadlines.ts'
import { SlotSet, type Slotted } from './slot-set.ts'

describe('SlotSet', () => {
  it('behaves as a Set', () => {
    const step = fc.record({ isAdded: fc.boolean(), which: fc.nat(7) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const all: Slotted[] = Array.from({ length: 8 }, () => ({ slot: -1 }))
        const [own, twin] = [new SlotSet<Slotted>(), new Set<Slotted>()]
        for (const { isAdded, which } of steps) {
          const member = all[which] as Slotted
          if (isAdded) own.add(member)
          else own.delete(member)
          if (isAdded) twin.add(member)
          else twin.delete(member)
          assert.equal(own.size, twin.size)
          assert.deepEqual(new Set(own.members()), twin)
          for (const each of all) assert.equal(own.has(each), twin.has(each))
        }
      }),
    )
  })

  it('rejects a member of another one', () => {
    const member = { slot: -1 }
    const other = new SlotSet<Slotted>()
    other.add({ slot: -1 })
    other.add(member)
    assert.throws(() => new SlotSet<Slotted>().add(member), /another set/)
    assert.ok(other.has(member))
  })
})

describe('expired deadlines', () => {
  /** Expired members remove themselves and possibly others; each of them expires once. */
  it('fire once each, whatever is removed and added meanwhile', () => {
    const shape = fc.record({
      isOver: fc.boolean(),
      removes: fc.array(fc.nat(11), { maxLength: 3 }),
      adds: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(shape, { minLength: 1, maxLength: 12 }), (shapes) => {
        const deadlines = new Deadlines(1e6)
        const expired: number[] = []
        const removed = new Set<number>()
        const all: Timed[] = shapes.map(({ isOver, removes, adds }, at) => ({
          slot: -1,
          deadline: isOver ? 1 : 3,
          expire: () => {
            expired.push(at)
            assert.ok(!removed.has(at), 'it was removed before')
            for (const other of [at, ...removes]) {
              const timed = all[other]
              if (timed !== undefined) deadlines.remove(timed)
              removed.add(other)
            }
            if (adds)
              deadlines.add({ slot: -1, deadline: 9, expire: () => assert.fail('too early') })
          },
        }))
        for (const timed of all) deadlines.add(timed)
        deadlines.check(2)
        assert.equal(new Set(expired).size, expired.length)
        shapes.forEach(({ isOver }, at) => {
          if (!isOver) assert.ok(!expired.includes(at))
          else if (!expired.includes(at)) assert.ok(removed.has(at), `${at} is over`)
        })
        for (const timed of all) deadlines.remove(timed)
      }),
    )
  })
})
