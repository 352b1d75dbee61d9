import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { BUDGET, type BudgetStore, MemoryBudgets, periodKey } from '../exchange/budget-store.ts'
import type { QuotaLimit, QuotaRejection } from '../exchange/quota.ts'
import { QuotaLeases } from './quota-leases.ts'
import type { QuotaOrder, QuotaReport } from './quota-messages.ts'
import { QuotaOwner } from './quota-owner.ts'

/** Simulates processes: messages between them arrive in order, one turn later. */
class Processes {
  now = 0
  readonly #owner: QuotaOwner
  readonly #workers = new Map<number, QuotaLeases>()
  #serials = 0

  constructor(count: number) {
    this.#owner = new QuotaOwner({
      workers: () => count,
      now: () => this.now,
      send: (worker, order: QuotaOrder) => {
        setImmediate(() => this.#workers.get(worker)?.receive(structuredClone(order)))
        return this.#workers.has(worker)
      },
    })
    for (let i = 0; i < count; i++) this.start()
  }

  start(): void {
    const serial = ++this.#serials
    const send = (report: QuotaReport) =>
      setImmediate(() => {
        if (this.#workers.has(serial)) this.#owner.report(serial, structuredClone(report))
      })
    this.#workers.set(serial, new QuotaLeases({ now: () => this.now, send }))
  }

  kill(at: number): void {
    const serial = [...this.#workers.keys()][at % this.#workers.size] as number
    const worker = this.#workers.get(serial)
    this.#workers.delete(serial)
    worker?.close()
    this.#owner.ended(serial)
    this.start()
  }

  at(index: number): QuotaLeases {
    return [...this.#workers.values()][index % this.#workers.size] as QuotaLeases
  }

  get buckets(): number {
    return this.#owner.size
  }
}

const limitOf = (capacity: number, refill: number, interval: number): QuotaLimit => ({
  capacity,
  refill,
  interval,
  maxKeys: 100,
})

const isTaken = (rejection: QuotaRejection | undefined) => (rejection === undefined ? 1 : 0)

describe('a quota shared by processes', () => {
  it('admits exactly its capacity, in any process and with any concurrency', async () => {
    const asks = fc.array(
      fc.record({ worker: fc.nat(7), burst: fc.integer({ min: 1, max: 60 }) }),
      {
        minLength: 1,
        maxLength: 12,
      },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 200 }),
        asks,
        async (count, capacity, turns) => {
          const processes = new Processes(count)
          const limit = limitOf(capacity, capacity, 86_400_000)
          let asked = 0
          let taken = 0
          for (const { worker, burst } of turns) {
            const own = Array.from({ length: burst }, (_, i) =>
              processes.at(worker + i).take([{ quota: 'q', limit, key: 'k' }]),
            )
            asked += burst
            for (const one of await Promise.all(own)) taken += isTaken(one)
          }
          assert.equal(taken, Math.min(asked, capacity))
        },
      ),
      { numRuns: 60 },
    )
  })

  it('is never exceeded by amounts, and settles the amounts used', async () => {
    const turn = fc.record({
      worker: fc.nat(7),
      burst: fc.integer({ min: 1, max: 12 }),
      amount: fc.integer({ min: 1, max: 60 }),
      used: fc.integer({ min: 0, max: 80 }),
    })
    const property = fc.asyncProperty(
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 60, max: 500 }),
      fc.array(turn, { minLength: 1, maxLength: 10 }),
      async (count, capacity, turns) => {
        const processes = new Processes(count)
        const limit = limitOf(capacity, capacity, 86_400_000)
        let left = capacity
        for (const { worker, burst, amount, used } of turns) {
          const own = Array.from({ length: burst }, (_, i) => {
            const asked = { quota: 'q', limit, key: 'k', amount }
            return processes.at(worker + i).take([asked])
          })
          let taken = 0
          for (const one of await Promise.all(own)) taken += isTaken(one)
          assert.equal(taken, Math.min(burst, Math.max(0, Math.floor(left / amount))))
          for (let i = 0; i < taken; i++) {
            processes.at(worker + i).charge('q', 'k', used - amount)
            left -= used
          }
          // The charges are in transit.
          for (let i = 0; i < 4; i++) await new Promise((done) => setImmediate(done))
        }
      },
    )
    await fc.assert(property, { numRuns: 60 })
  })

  it('takes from all limits or from none', async () => {
    const processes = new Processes(2)
    const wide = { quota: 'wide', limit: limitOf(6, 6, 86_400_000), key: '' }
    const narrow = { quota: 'narrow', limit: limitOf(2, 2, 1_000), key: '' }
    const ask = async (count: number) => {
      let taken = 0
      for (let i = 0; i < count; i++) taken += isTaken(await processes.at(i).take([wide, narrow]))
      return taken
    }
    assert.equal(await ask(9), 2)
    processes.now += 1_000
    assert.equal(await ask(9), 2)
    processes.now += 1_000
    assert.equal(await ask(9), 2)
    processes.now += 1_000
    assert.equal(await ask(9), 0, 'what the narrow one refused did not use up the wide one')
  })

  it('never exceeds its capacity, however long leases are unused', async () => {
    const processes = new Processes(2)
    const asked = { quota: 'q', limit: limitOf(100, 100, 1_000), key: '' }
    assert.equal(isTaken(await processes.at(0).take([asked])), 1)
    processes.now += 1_000
    let taken = 0
    for (let i = 0; i < 150; i++) taken += isTaken(await processes.at(i).take([asked]))
    assert.equal(taken, 100)
  })

  it('loses the leases of a worker that dies, and admits no more', async () => {
    const processes = new Processes(2)
    const asked = { quota: 'q', limit: limitOf(100, 100, 86_400_000), key: '' }
    let taken = isTaken(await processes.at(0).take([asked]))
    processes.kill(0)
    for (let i = 0; i < 150; i++) taken += isTaken(await processes.at(i).take([asked]))
    assert.ok(taken <= 100 && taken >= 100 - 100 / 4, String(taken))
  })

  it('releases all concurrent requests, including those of dead workers', async () => {
    const processes = new Processes(3)
    const asked = { quota: 'at once', limit: limitOf(5, 0, Number.POSITIVE_INFINITY), key: 'a' }
    const fill = async () => {
      const taken: QuotaLeases[] = []
      for (let i = 0; i < 20; i++) {
        const worker = processes.at(i)
        if ((await worker.take([asked])) === undefined) taken.push(worker)
      }
      return taken
    }
    const held = await fill()
    assert.equal(held.length, 5)
    held[0]?.give('at once', 'a')
    held[1]?.give('at once', 'a')
    assert.equal((await fill()).length, 2)
    for (let i = 0; i < 3; i++) processes.kill(0)
    assert.equal((await fill()).length, 5)
    for (let i = 0; i < 3; i++) processes.kill(0)
    assert.equal(processes.buckets, 0, 'nothing is kept of keys that nobody uses')
  })

  it('is rejected after a timeout if the owner does not respond', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const leases = new QuotaLeases({ send: () => {}, now: () => 0 })
    const taken = leases.take([{ quota: 'q', limit: limitOf(1, 1, 1_000), key: '' }])
    context.mock.timers.tick(2_000)
    assert.deepEqual(await taken, { asked: 0, wait: 0, isAway: true })
    leases.close()
  })

  for (const amount of [undefined, 6]) {
    const what = amount === undefined ? 'one' : `an amount of ${amount}`
    it(`does not lose ${what} that was granted after its request gave up`, async (context) => {
      context.mock.timers.enable({ apis: ['setTimeout'] })
      const processes = new Processes(1)
      const limit = limitOf(10, 10, 86_400_000)
      const asked = { quota: 'q', limit, key: 'k', ...(amount === undefined ? {} : { amount }) }
      const late = processes.at(0).take([asked])
      context.mock.timers.tick(2_000)
      assert.deepEqual(await late, { asked: 0, wait: 0, isAway: true })
      // The grant and what is given back are in transit.
      for (let i = 0; i < 6; i++) await new Promise((done) => setImmediate(done))
      let taken = 0
      const single = { quota: 'q', limit, key: 'k' }
      if (amount === undefined) {
        for (let i = 0; i < 12; i++) taken += isTaken(await processes.at(0).take([single]))
      } else taken = 10 * isTaken(await processes.at(0).take([{ ...single, amount: 10 }]))
      assert.equal(taken, 10)
    })
  }

  it('says which of several limits is empty, and for how long it has been known to be', async () => {
    const processes = new Processes(1)
    const asked = [2, 1, 3].map((capacity, i) => ({
      quota: `q${i}`,
      limit: limitOf(capacity, capacity, 1_000 * (i + 1)),
      key: '',
    }))
    const [first, second, third] = asked.map((one) => [one])
    const take = (some: typeof asked) => processes.at(0).take(some)
    assert.equal(await take(asked), undefined)
    assert.deepEqual(await take(asked), { asked: 1, wait: 2_000, isAway: false })
    processes.now += 500
    // Known without a message now, so no promise is returned.
    assert.deepEqual(take(asked), { asked: 1, wait: 1_500, isAway: false })
    assert.equal(await take(first ?? []), undefined)
    assert.deepEqual(await take(first ?? []), { asked: 0, wait: 500, isAway: false })
    assert.deepEqual(take(asked), { asked: 1, wait: 1_500, isAway: false })
    assert.deepEqual(take(asked.toReversed()), { asked: 1, wait: 1_500, isAway: false })
    for (let i = 0; i < 2; i++) assert.equal(await take(third ?? []), undefined)
    assert.deepEqual(await take(third ?? []), { asked: 0, wait: 2_500, isAway: false })
    assert.deepEqual(take(asked), { asked: 2, wait: 2_500, isAway: false })
    processes.now += 1_499
    assert.deepEqual(take(second ?? []), { asked: 0, wait: 1, isAway: false })
    processes.now += 1
    assert.equal(await take(second ?? []), undefined)
  })

  it('is used up by tokens of a request whose worker is gone before they arrive', async () => {
    const processes = new Processes(2)
    const asked = { quota: 'q', limit: limitOf(4, 4, 1_000), key: '' }
    const lost = processes.at(0).take([{ ...asked, amount: 3 }])
    // The request is on its way to the owner.
    processes.kill(0)
    assert.equal((await lost)?.isAway, true)
    let taken = 0
    for (let i = 0; i < 8; i++) taken += isTaken(await processes.at(1).take([asked]))
    assert.equal(taken, 4, 'the request never reached it')
  })
})

describe('a budget', () => {
  const END = 2_000_000_000_000
  const limit = limitOf(100, 0, Number.POSITIVE_INFINITY)
  const asked = (amount: number, key = 'ann') => ({
    ...{ quota: `${BUDGET}b`, key: periodKey(END, key), limit, amount },
  })
  const place = (key = 'ann') => ({ budget: `${BUDGET}b`, ends: END, key })

  /** An owner whose orders to workers are recorded; those to worker 9 do not arrive. */
  function ownerOf(budgets: BudgetStore) {
    const orders: (readonly [worker: number, order: QuotaOrder])[] = []
    const send = (worker: number, order: QuotaOrder) => {
      orders.push([worker, order])
      return worker !== 9
    }
    const owner = new QuotaOwner({ workers: () => 2, now: () => 5, send, budgets })
    const report = async (worker: number, parts: Partial<QuotaReport>) => {
      const none = { kind: 'quota', asks: [], returns: [], charges: [], recalled: [] } as const
      owner.report(worker, { ...none, ...parts })
      for (let i = 0; i < 3; i++) await new Promise((done) => setImmediate(done))
      return orders.splice(0)
    }
    return { owner, report }
  }

  it('is kept by its store: amounts are taken from it, and settled in it', async () => {
    const budgets = new MemoryBudgets(() => END - 1_000)
    const { owner, report } = ownerOf(budgets)
    assert.deepEqual(await report(1, { asks: [{ id: 7, asked: [asked(60)] }] }), [
      [1, { kind: 'quota-granted', id: 7, granted: [{ tokens: 60, epoch: 0, expires: 5 }] }],
    ])
    const rejected = { kind: 'quota-rejected', asked: 0, wait: 0, until: 5, isAway: false }
    assert.deepEqual(await report(2, { asks: [{ id: 8, asked: [asked(41)] }] }), [
      [2, { ...rejected, id: 8 }],
    ])
    const ben = await report(2, { asks: [{ id: 9, asked: [asked(41, 'ben')] }] })
    assert.equal(ben[0]?.[1].kind, 'quota-granted')
    const { quota, key } = asked(0)
    assert.deepEqual(await report(1, { charges: [{ quota, key, amount: -20 }] }), [])
    assert.deepEqual(budgets.use(place().budget, 0), { callers: 2, used: 81, maxUsed: 41 })
    assert.equal(owner.size, 0, 'it is no bucket')
    // A request without an amount counts as one.
    const { amount: _, ...single } = asked(0)
    await report(1, { asks: [{ id: 10, asked: [single] }] })
    assert.equal(budgets.use(place().budget, 0).used, 82)
  })

  it('gets back what was granted to a worker that is gone', async () => {
    const budgets = new MemoryBudgets(() => END - 1_000)
    const { report } = ownerOf(budgets)
    await report(9, { asks: [{ id: 1, asked: [asked(60)] }] })
    assert.equal(budgets.use(place().budget, 0).used, 0)
    await report(1, { asks: [{ id: 1, asked: [asked(60)] }] })
    assert.equal(budgets.use(place().budget, 0).used, 60)
  })

  it('is away, rather than used up, if its store is', async () => {
    const budgets: BudgetStore = {
      take: () => 'owner-away',
      charge: () => {},
      use: () => ({ callers: 0, used: 0, maxUsed: 0 }),
    }
    const [[, order] = []] = await ownerOf(budgets).report(1, {
      asks: [{ id: 1, asked: [asked(1)] }],
    })
    assert.deepEqual(order?.kind === 'quota-rejected' && order.isAway, true)
  })
})
