import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Exchange } from '../exchange/exchange.ts'
import { type Algorithm, type Balanced, balancer, schedule } from './balance.ts'
import { hash32, maglevTable } from './maglev.ts'

interface Fake extends Balanced {
  isUsable: boolean
}

function fakes(...weights: readonly number[]): readonly Fake[] {
  return weights.map((weight, at) => ({ name: `m${at}`, weight, active: 0, isUsable: true }))
}

const ALL: readonly Algorithm[] = ['LeastRequest', 'RoundRobin', 'Random', 'ConsistentHash']

/** The key of a fake exchange is the exchange itself. */
const keyed = (key: string) => key as unknown as Exchange
const hashKey = (exchange: Exchange) => String(exchange)

function shares(algorithm: Algorithm, members: readonly Fake[], picks = 20_000) {
  const { pick } = balancer(algorithm, members, { hashKey })
  const counts = new Map(members.map(({ name }) => [name, 0]))
  for (let i = 0; i < picks; i++) {
    const { name } = pick(keyed(`key-${i}`), []) as Fake
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts.values()].map((count) => count / picks)
}

describe('load distribution', () => {
  for (const algorithm of ALL) {
    for (const weights of [[1], [1, 1, 1], [1, 2, 5], [10, 10], [3, 1, 1, 7]]) {
      it(`${algorithm} gives ${weights.join(':')}`, () => {
        const total = weights.reduce((sum, weight) => sum + weight, 0)
        const found = shares(algorithm, fakes(...weights))
        for (const [at, share] of found.entries()) {
          const wanted = (weights[at] as number) / total
          assert.ok(Math.abs(share - wanted) < 0.03, `${at}: ${share}, not ${wanted}`)
        }
      })
    }
  }

  it('RoundRobin takes turns, and interleaves heavy members', () => {
    assert.equal(
      schedule(fakes(5, 1, 1))
        .map(({ name }) => name)
        .join(' '),
      'm0 m0 m1 m0 m2 m0 m0',
    )
    const { pick } = balancer('RoundRobin', fakes(1, 1, 1), { random: () => 0 })
    const names = Array.from({ length: 6 }, () => pick(undefined, [])?.name)
    assert.deepEqual(names, ['m0', 'm1', 'm2', 'm0', 'm1', 'm2'])
  })

  it('weights of any size yield a schedule of bounded length with every member', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 1_000 }), { minLength: 1, maxLength: 8 }),
        (weights) => {
          const turns = schedule(fakes(...weights))
          assert.ok(turns.length <= 4_096)
          assert.equal(new Set(turns).size, weights.length)
        },
      ),
      { numRuns: 30 },
    )
  })
})

describe('LeastRequest', () => {
  it('prefers the member with fewer active requests', () => {
    const members = fakes(1, 1)
    const [one, other] = members as [Fake, Fake]
    one.active = 3
    const { pick } = balancer('LeastRequest', members)
    for (let i = 0; i < 50; i++) assert.equal(pick(undefined, []), other)
  })

  it('weighs active requests by weight', () => {
    const members = fakes(10, 1)
    const [strong, weak] = members as [Fake, Fake]
    strong.active = 5
    weak.active = 1
    const { pick } = balancer('LeastRequest', members)
    for (let i = 0; i < 50; i++) assert.equal(pick(undefined, []), strong)
  })

  it('keeps the active requests of all members nearly equal', () => {
    const members = fakes(...Array.from({ length: 10 }, () => 1))
    const { pick } = balancer('LeastRequest', members)
    for (let i = 0; i < 10_000; i++) (pick(undefined, []) as Fake).active++
    const active = members.map((member) => member.active)
    assert.ok(Math.max(...active) - Math.min(...active) < 20, active.join(' '))
  })
})

describe('health', () => {
  for (const algorithm of ALL) {
    it(`${algorithm} passes over those that are ill, until they are well`, () => {
      const members = fakes(1, 1, 1)
      const [ill] = members as [Fake]
      const { pick, update } = balancer(algorithm, members, { hashKey })
      const picks = () => new Set(Array.from({ length: 200 }, (_, i) => pick(keyed(`${i}`), [])))
      ill.isUsable = false
      update()
      assert.equal(picks().has(ill), false)
      ill.isUsable = true
      update()
      assert.equal(picks().has(ill), true)
    })

    it(`${algorithm} ignores health when fewer than half are well`, () => {
      const members = fakes(1, 1, 1)
      for (const member of members.slice(1)) member.isUsable = false
      const { pick } = balancer(algorithm, members, { hashKey })
      const seen = new Set(Array.from({ length: 300 }, (_, i) => pick(keyed(`${i}`), [])))
      assert.equal(seen.size, 3)
    })

    it(`${algorithm} has nobody when all are ill and panic is off`, () => {
      const members = fakes(1, 1)
      for (const member of members) member.isUsable = false
      const { pick } = balancer(algorithm, members, { hashKey, panicBelow: 0 })
      assert.equal(pick(keyed('a'), []), undefined)
      assert.equal(pick(keyed('a'), ['m0']), undefined)
    })

    it(`${algorithm} takes another one on a retry, and any one when all were tried`, () => {
      const members = fakes(1, 2, 3)
      const { pick } = balancer(algorithm, members, { hashKey })
      for (let i = 0; i < 100; i++) {
        const key = keyed(`${i}`)
        const first = pick(key, []) as Fake
        const second = pick(key, [first.name]) as Fake
        const third = pick(key, [first.name, second.name]) as Fake
        assert.equal(new Set([first, second, third]).size, 3)
        assert.ok(pick(key, ['m0', 'm1', 'm2']) !== undefined)
      }
    })
  }
})

describe('ConsistentHash', () => {
  const members = fakes(1, 1, 1, 1, 1)
  const keys = Array.from({ length: 2_000 }, (_, i) => keyed(`user-${i}`))

  it('maps equal keys to the same member, in every process', () => {
    const one = balancer('ConsistentHash', members, { hashKey })
    const other = balancer('ConsistentHash', fakes(1, 1, 1, 1, 1), { hashKey })
    for (const key of keys) assert.equal(one.pick(key, [])?.name, other.pick(key, [])?.name)
    assert.equal(hash32('portcullis', 0), hash32('portcullis', 0))
  })

  it('moves only the keys of an unhealthy member', () => {
    const { pick, update } = balancer('ConsistentHash', members, { hashKey })
    const before = keys.map((key) => pick(key, []))
    const [ill] = members as [Fake]
    ill.isUsable = false
    update()
    for (const [at, key] of keys.entries()) {
      const now = pick(key, [])
      if (before[at] === ill) assert.notEqual(now, ill)
      else assert.equal(now, before[at])
    }
    ill.isUsable = true
  })

  it('gives a new member about its share, and moves few other keys', () => {
    const before = balancer('ConsistentHash', members, { hashKey })
    const after = balancer('ConsistentHash', [...members, ...fakes(1)].map(renamed), { hashKey })
    let toOthers = 0
    for (const key of keys) {
      const [old, now] = [before.pick(key, [])?.name, after.pick(key, [])?.name]
      if (old !== now && now !== 'm5') toOthers++
    }
    assert.ok(toOthers < keys.length * 0.1, `${toOthers}`)
  })

  it('sends a request without a key to any member', () => {
    const { pick } = balancer('ConsistentHash', members, { hashKey: () => undefined })
    const seen = new Set(Array.from({ length: 200 }, () => pick(keyed(''), [])))
    assert.equal(seen.size, members.length)
  })

  it('gives every member its share of the table', () => {
    for (const count of [2, 10, 100, 256]) {
      const table = maglevTable(fakes(...Array.from({ length: count }, () => 1)))
      const places = new Array<number>(count).fill(0)
      for (const at of table) places[at] = (places[at] as number) + 1
      assert.ok(Math.max(...places) - Math.min(...places) <= 1, `${count}`)
    }
  })

  for (const weights of [
    [1, 2],
    [3, 1, 2],
    [1, 1, 100],
    [7, 0.5, 7, 3],
  ]) {
    it(`gives members shares of the table by weight: ${weights}`, () => {
      const table = maglevTable(fakes(...weights))
      const sum = weights.reduce((all, weight) => all + weight, 0)
      for (const [at, weight] of weights.entries()) {
        const share = table.filter((member) => member === at).length
        const expected = (table.length * weight) / sum
        assert.ok(Math.abs(share - expected) <= weights.length, `${at}: ${share} of ${expected}`)
      }
    })
  }

  it('has at least a hundred places for each member in its table', () => {
    for (const [members, size] of [
      [2, 251],
      [3, 1_021],
      [10, 1_021],
      [11, 4_093],
      [40, 4_093],
      [41, 16_381],
      [163, 16_381],
      [164, 65_521],
      [655, 65_521],
      [1_000, 65_521],
    ] as const) {
      const all = fakes(...Array.from({ length: members }, () => 1))
      assert.equal(maglevTable(all).length, size, `${members}`)
    }
  })
})

function renamed(member: Fake, at: number): Fake {
  return { ...member, name: `m${at}` }
}
