import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { type Revoked, RevokedKeys } from './revoked-keys.ts'
import type { SignInOrder, SignInReport } from './sign-in-messages.ts'
import { SignInOwner } from './sign-in-owner.ts'
import { endedSessions, ownSignIn, WorkerSignIn } from './sign-in-share.ts'

const turn = () => new Promise((done) => setImmediate(done))
const NOW = Math.floor(Date.now() / 1_000)
const revoked = (key: string, before = NOW): Revoked => ({
  ...{ keys: [key], before, until: NOW + 60 },
})

/** Workers of one owner; messages between them arrive one turn later. */
class Processes {
  readonly shared: Revoked[] = []
  readonly owner: SignInOwner
  readonly #workers = new Map<number, WorkerSignIn>()
  readonly #acknowledged = new Map<number, () => void>()
  #ids = 0

  constructor(count: number) {
    this.owner = new SignInOwner({
      send: (serial, order) => this.#send(serial, order),
      sendAll: async (all) => {
        const serials = [...this.#workers.keys()]
        await Promise.all(serials.map((serial) => this.#revokeAt(serial, all)))
      },
    })
    for (let serial = 0; serial < count; serial++) this.start(serial)
  }

  start(serial: number): WorkerSignIn {
    const send = (report: SignInReport) =>
      setImmediate(() => this.owner.report(serial, structuredClone(report)))
    const worker = new WorkerSignIn(send)
    worker.receive({ kind: 'sign-in-revoked', id: undefined, revoked: this.owner.revoked() }, () =>
      assert.fail('not asked for'),
    )
    this.#workers.set(serial, worker)
    return worker
  }

  kill(serial: number): void {
    this.#workers.delete(serial)
    this.owner.ended(serial)
  }

  at(serial: number): WorkerSignIn {
    return this.#workers.get(serial) as WorkerSignIn
  }

  #revokeAt(serial: number, all: readonly Revoked[]): Promise<void> {
    const id = ++this.#ids
    return new Promise((resolve) => {
      this.#acknowledged.set(id, resolve)
      if (!this.#send(serial, { kind: 'sign-in-revoked', id, revoked: all })) resolve()
    })
  }

  #send(serial: number, order: SignInOrder): boolean {
    setImmediate(() =>
      this.#workers
        .get(serial)
        ?.receive(structuredClone(order), (id) => this.#acknowledged.get(id)?.()),
    )
    return this.#workers.has(serial)
  }
}

describe('a session that is revoked in one process', () => {
  it('is revoked in all of them, and in other replicas, before that is reported', async () => {
    const processes = new Processes(3)
    const { shared, owner } = processes
    owner.share = async (one) => {
      await turn()
      shared.push(one)
    }
    await processes.at(1).revoke(revoked('a'))
    assert.deepEqual(shared, [revoked('a')])
    for (const serial of [0, 1, 2]) {
      assert.equal(processes.at(serial).isRevoked(['b', 'a'], NOW), true)
      assert.equal(processes.at(serial).isRevoked(['b'], NOW), false)
      assert.equal(processes.at(serial).isRevoked(['a'], NOW + 1), false)
    }
    assert.equal(processes.start(3).isRevoked(['a'], NOW), true)
  })

  it('is revoked at once in its own', () => {
    const own = new Processes(2).at(0)
    void own.revoke(revoked('a'))
    assert.equal(own.isRevoked(['a'], NOW), true)
  })

  it('is revoked everywhere if another replica says so', async () => {
    const processes = new Processes(2)
    processes.owner.share = () => assert.fail('it comes from there')
    await processes.owner.learn([])
    await processes.owner.learn([revoked('a'), revoked('b')])
    for (const serial of [0, 1]) assert.ok(processes.at(serial).isRevoked(['b'], NOW))
    assert.ok(processes.start(2).isRevoked(['a'], NOW))
  })

  it('is revoked in a process that serves alone, and shared', async () => {
    const shared: Revoked[] = []
    const { shared: own, learn } = ownSignIn(() => async (one) => void shared.push(one))
    await own.revoke(revoked('a'))
    learn([revoked('b'), revoked('c')])
    assert.deepEqual(
      ['a', 'b', 'c', 'd'].map((key) => own.isRevoked([key], NOW)),
      [true, true, true, false],
    )
    assert.deepEqual(shared, [revoked('a')])
    assert.equal(await own.once('key', async () => 3), 3)
    await ownSignIn(() => undefined).shared.revoke(revoked('a'))
  })
})

describe('work that one process does for all', () => {
  it('is done once, and its outcome is shared for a while', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const processes = new Processes(3)
    let count = 0
    const work = async () => {
      await turn()
      return `result ${++count}`
    }
    const all = await Promise.all([0, 1, 2, 0].map((at) => processes.at(at).once('k', work)))
    assert.deepEqual(all, Array(4).fill('result 1'))
    assert.equal(await processes.at(2).once('k', work), 'result 1')
    assert.equal(await processes.at(2).once('other', work), 'result 2')
    context.mock.timers.tick(29_999)
    assert.equal(await processes.at(1).once('k', work), 'result 1')
    context.mock.timers.tick(1)
    assert.equal(await processes.at(1).once('k', work), 'result 3')
  })

  it('fails for all if it fails', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const processes = new Processes(2)
    const first = processes.at(0).once('k', async () => {
      throw new Error('rejected by the server')
    })
    const second = processes.at(1).once('k', async () => assert.fail('done twice'))
    await assert.rejects(first, /rejected by the server/)
    await assert.rejects(second, /failed in another worker/)
  })

  it('fails for all if its process ends', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const processes = new Processes(3)
    void processes.at(0).once('k', () => new Promise(() => {}))
    await turn()
    const second = processes.at(1).once('k', async () => assert.fail('done twice'))
    const others = processes.at(1).once('other', async () => 'other')
    await turn()
    processes.kill(2)
    await turn()
    processes.kill(0)
    await assert.rejects(second, /failed in another worker/)
    assert.equal(await others, 'other')
    processes.kill(1)
    assert.equal(await processes.start(4).once('other', async () => 'again'), 'other')
  })
})

describe('revoked keys', () => {
  it('cover tokens issued until the latest revocation of any of their keys', () => {
    const one = fc.record({
      keys: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
      before: fc.nat(5),
      until: fc.constant(NOW + 60),
    })
    fc.assert(
      fc.property(fc.array(one, { maxLength: 6 }), (all) => {
        const keys = new RevokedKeys()
        for (const each of all) keys.add(each)
        const copy = new RevokedKeys()
        for (const each of keys.all()) copy.add(each)
        for (const asked of [[], ['a'], ['b', 'c'], ['d']]) {
          for (let issued = 0; issued <= 6; issued++) {
            const expected = all.some(
              (each) => issued <= each.before && each.keys.some((key) => asked.includes(key)),
            )
            assert.equal(keys.has(asked, issued), expected)
            assert.equal(copy.has(asked, issued), expected)
          }
        }
      }),
      { numRuns: 200, seed: 26 },
    )
  })

  it('of users are not displaced by those of MCP sessions', async () => {
    const { shared } = ownSignIn(() => undefined)
    const sessions = endedSessions(shared)
    await shared.revoke(revoked('user'))
    await sessions.end(['first'])
    assert.deepEqual([sessions.has('first'), sessions.has('user')], [true, false])
    const many = Array.from({ length: 100_001 }, (_, at) => `s${at}`)
    await sessions.end(many)
    assert.equal(shared.isRevoked(['user'], NOW), true)
    assert.deepEqual(
      ['first', 's0', 's1', 's100000'].map((key) => sessions.has(key)),
      [false, false, true, true],
    )
  })

  it('are bounded: expired ones go first, then the oldest', () => {
    const keys = new RevokedKeys()
    const many = (from: number, count: number) =>
      Array.from({ length: count }, (_, at) => `k${from + at}`)
    const later = { before: 1, until: NOW + 1_000 }
    keys.add({ keys: many(0, 60_000), ...later })
    keys.add({ keys: many(60_000, 40_000), before: 1, until: NOW - 1_000 })
    assert.equal(keys.all().length, 100_000)
    // Known again, it is no longer the oldest.
    keys.add({ keys: ['k0'], ...later })
    keys.add({ keys: ['new'], ...later })
    assert.equal(keys.all().length, 60_001)
    assert.equal(keys.has(['k60000'], 1), false)
    keys.add({ keys: many(200_000, 40_000), ...later })
    assert.equal(keys.all().length, 100_000)
    assert.deepEqual(
      ['k0', 'k1', 'k2', 'new', 'k239999'].map((key) => keys.has([key], 1)),
      [true, false, true, true, true],
    )
  })
})
