import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Fetched } from './fetch-keys.ts'
import { keySetText, signerOf } from './fixtures/tokens.ts'
import { type Refresh, type RemoteClock, RemoteKeys } from './remote.ts'

const A = keySetText(signerOf('ES256', 'a'))
const B = keySetText(signerOf('ES256', 'b', 'b'))

/** A clock that the test advances. */
class TestClock implements RemoteClock {
  time = 0
  readonly #timers = new Map<object, { readonly at: number; readonly run: () => void }>()
  now = () => this.time
  random = () => 0.5

  after(milliseconds: number, run: () => void): () => void {
    const timer = {}
    this.#timers.set(timer, { at: this.time + milliseconds, run })
    return () => this.#timers.delete(timer)
  }

  get waiting(): number {
    return this.#timers.size
  }

  async pass(milliseconds: number): Promise<void> {
    const end = this.time + milliseconds
    for (;;) {
      await settled()
      const due = [...this.#timers].filter(([, { at }]) => at <= end)
      const [next] = due.toSorted(([, a], [, b]) => a.at - b.at)
      if (next === undefined) break
      this.#timers.delete(next[0])
      this.time = next[1].at
      next[1].run()
    }
    this.time = end
  }
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

/** An issuer that responds as the test specifies, or waits until it does. */
function setUp(response: Fetched | 'wait' = text(A), cacheDuration = 900_000) {
  const clock = new TestClock()
  const seen: string[] = []
  const asked: ((response: Fetched) => void)[] = []
  const issuer = {
    response,
    fetches: 0,
    release: (late: Fetched) => {
      for (const resolve of asked.splice(0)) resolve(late)
    },
  }
  const keys = new RemoteKeys({
    url: 'https://issuer.example/keys',
    cacheDuration,
    clock,
    fetch: () => {
      issuer.fetches++
      const { response } = issuer
      if (response !== 'wait') return Promise.resolve(response)
      return new Promise((resolve) => asked.push(resolve))
    },
    observe: ({ outcome, trigger }: Refresh) => seen.push(`${trigger} ${outcome}`),
  })
  const kids = () => keys.status().kids.join()
  return { clock, issuer, keys, seen, kids }
}

function text(body: string, maxAge?: number): Fetched {
  return { kind: 'text', text: body, maxAge }
}

const DOWN: Fetched = { kind: 'failed', detail: 'connection refused' }

/** The number of fetches within so many milliseconds, including the first. */
async function fetchesOf(
  response: Fetched,
  cacheDuration: number,
  within: number,
): Promise<number> {
  const { clock, issuer } = setUp(response, cacheDuration)
  await clock.pass(within)
  return issuer.fetches
}

describe('remote keys', () => {
  it('are fetched at startup, and again before they expire', async () => {
    const { clock, issuer, keys, seen, kids } = setUp()
    assert.equal(keys.current, undefined)
    await settled()
    assert.equal(kids(), 'a')
    const first = keys.current
    await clock.pass(809_999)
    assert.equal(issuer.fetches, 1)
    await clock.pass(1)
    assert.equal(issuer.fetches, 2, 'at nine tenths, as the dice fell')
    assert.equal(keys.current, first, 'the same text is the same keys')
    issuer.response = text(B)
    await clock.pass(900_000)
    assert.equal(kids(), 'b')
    assert.deepEqual(seen, ['start changed', 'interval unchanged', 'interval changed'])
  })

  it('are requested a limited number of times from an issuer that is down', async () => {
    assert.equal(await fetchesOf(DOWN, 0, 1_000), 2)
  })

  for (const [maxAge, cacheDuration, first] of [
    [undefined, 900_000, 810_000],
    [3_600_000, 900_000, 810_000],
    [100_000, 900_000, 90_000],
    [0, 900_000, 27_000],
    [undefined, 5_000, 4_500],
    [0, 5_000, 4_500],
    [undefined, 0, 900],
  ] as const) {
    const kept = `with a max-age of ${maxAge} ms, kept for ${cacheDuration} ms`
    it(`${kept}, are fetched again after ${first} ms`, async () => {
      const { clock, issuer } = setUp(text(A, maxAge), cacheDuration)
      await clock.pass(first - 1)
      assert.equal(issuer.fetches, 1)
      await clock.pass(1)
      assert.equal(issuer.fetches, 2)
    })
  }

  it('stay valid while the issuer is down, with fetches less and less often', async () => {
    const { clock, issuer, keys, kids } = setUp()
    await settled()
    issuer.response = DOWN
    await clock.pass(86_400_000)
    assert.equal(kids(), 'a')
    const { age = 0, last, failures } = keys.status()
    assert.ok(age >= 86_400_000 && failures > 100)
    assert.deepEqual(last, { outcome: 'failed', trigger: 'interval', detail: 'connection refused' })
    const before = issuer.fetches
    await clock.pass(600_000)
    assert.ok(issuer.fetches - before <= 12, `${issuer.fetches - before} in ten minutes`)
    issuer.response = text(B)
    await clock.pass(60_000)
    assert.equal(kids(), 'b')
    assert.equal(keys.status().failures, 0)
  })

  it('are retried soon if they could not be fetched at startup', async () => {
    const { clock, issuer, keys, kids } = setUp(DOWN)
    await settled()
    assert.equal(keys.status().age, undefined)
    issuer.response = text(A)
    await clock.pass(1000)
    assert.equal(kids(), 'a')
  })

  for (const response of ['', '<html>', '{}', '{"keys":7}', '{"keys":[],"keys":[]}']) {
    it(`are not replaced by ${JSON.stringify(response)}`, async () => {
      const { clock, issuer, keys, kids } = setUp()
      await settled()
      issuer.response = text(response)
      await clock.pass(900_000)
      assert.equal(kids(), 'a')
      assert.equal(keys.status().last?.outcome, 'refused')
    })
  }

  it('are removed if the issuer publishes none', async () => {
    const { clock, issuer, keys } = setUp()
    await settled()
    issuer.response = text('{"keys":[]}')
    await clock.pass(900_000)
    assert.equal(keys.current?.byKid.size, 0)
  })

  it('are fetched for an unknown kid, once per interval', async () => {
    const { clock, issuer, keys, kids, seen } = setUp()
    await clock.pass(1000)
    issuer.response = text(B)
    const waiting = keys.refetch()
    assert.ok(waiting instanceof Promise)
    await waiting
    assert.equal(kids(), 'b')
    for (let i = 0; i < 100; i++) assert.equal(keys.refetch(), undefined)
    await clock.pass(29_999)
    assert.equal(keys.refetch(), undefined)
    await clock.pass(1)
    await keys.refetch()
    assert.equal(issuer.fetches, 3)
    assert.deepEqual(seen, ['start changed', 'unknown-key changed', 'unknown-key unchanged'])
  })

  it('are fetched once for concurrent waiters', async () => {
    const { issuer, keys, kids } = setUp('wait')
    const waiting = Array.from({ length: 50 }, () => keys.refetch())
    assert.ok(waiting.every((one) => one !== undefined))
    assert.equal(issuer.fetches, 1)
    issuer.release(text(A))
    await Promise.all(waiting)
    assert.equal(kids(), 'a')
    assert.equal(issuer.fetches, 1)
  })

  it('release waiters after the maximum wait', async () => {
    const { clock, issuer, keys, kids } = setUp('wait')
    let isOver = false
    keys.refetch()?.then(() => {
      isOver = true
    })
    await clock.pass(2999)
    assert.equal(isOver, false)
    await clock.pass(1)
    assert.equal(isOver, true)
    issuer.release(text(A))
    await settled()
    assert.equal(kids(), 'a', 'what comes late is still taken')
  })

  it('survive a fetch that throws', async () => {
    const clock = new TestClock()
    const fetch = () => Promise.reject(new Error('broken'))
    const keys = new RemoteKeys({ url: 'https://x', cacheDuration: 1000, clock, fetch })
    await settled()
    assert.equal(keys.status().last?.detail, 'Error: broken')
    assert.ok(clock.waiting > 0)
  })

  it('stop when they are closed', async () => {
    const { clock, issuer, keys } = setUp()
    await settled()
    keys.close()
    assert.equal(clock.waiting, 0)
    await clock.pass(10_000_000)
    assert.equal(keys.refetch(), undefined)
    assert.equal(issuer.fetches, 1)
  })

  it('are not fetched again if closed during a fetch', async () => {
    const { clock, issuer, keys } = setUp('wait')
    keys.close()
    issuer.release(text(A))
    await settled()
    assert.equal(clock.waiting, 0)
  })
})
