import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MemoryUserTokens, type UserTokenStore } from '../exchange/user-token-store.ts'
import { serveUserTokens, WorkerUserTokens } from './user-token-share.ts'

/** A worker's access to a store of its parent; messages are copied and arrive later. */
function workerOf(store: UserTokenStore): WorkerUserTokens {
  const worker = new WorkerUserTokens((report) => {
    void serveUserTokens(store, structuredClone(report)).then((order) =>
      setImmediate(() => worker.receive(structuredClone(order))),
    )
  })
  return worker
}

const first = { version: 'v1', sealed: 'one' }
const second = { version: 'v2', sealed: 'two' }

describe('user tokens of a worker', () => {
  it('are those of its parent, whatever is done with them', async () => {
    let now = 0
    const store = new MemoryUserTokens(() => now)
    const [one, other] = [workerOf(store), workerOf(store)]
    assert.equal(await one.read('a'), undefined)
    await one.write('a', first)
    await one.write('b', first)
    assert.deepEqual(await other.read('a'), first)
    assert.deepEqual([await one.claim('a', 'v0'), await one.claim('a', 'v1')], [false, true])
    assert.equal(await other.claim('a', 'v1'), false, 'another one renews it')
    now += 3_600_000
    assert.equal(await other.claim('a', 'v1'), true, 'it was not renewed in time')
    assert.equal(await one.replace('a', 'v0', second), false)
    assert.deepEqual(await one.read('a'), first)
    assert.equal(await one.replace('a', 'v1', second), true)
    assert.deepEqual(await other.read('a'), second)
    assert.equal(await other.claim('a', 'v2'), true, 'another version is another claim')
    await other.remove('a', 'v1')
    assert.deepEqual(await one.read('a'), second)
    await other.remove('a', 'v2')
    await one.remove('b')
    assert.deepEqual(
      [await one.read('a'), await one.read('b'), store.size],
      [undefined, undefined, 0],
    )
  })

  it('are not available if the store fails, and the reason is known', async () => {
    for (const [thrown, message] of [
      [new Error('no space left'), 'no space left'],
      ['away', 'away'],
    ] as const) {
      const store = new MemoryUserTokens()
      store.write = () => Promise.reject(thrown)
      const worker = workerOf(store)
      await assert.rejects(worker.write('a', first), { message })
      assert.equal(await worker.read('a'), undefined)
    }
  })

  it('are not available if the parent does not respond in time', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const worker = new WorkerUserTokens(() => {})
    const read = worker.read('a')
    let isOver = false
    read.catch(() => {
      isOver = true
    })
    context.mock.timers.tick(9_999)
    await new Promise((done) => setImmediate(done))
    assert.equal(isOver, false)
    context.mock.timers.tick(1)
    await assert.rejects(read, /user tokens are not available/)
    worker.receive({ kind: 'user-token-response', id: 1, value: first, error: undefined })
  })
})
