import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Client } from 'pg'
import { ChangeFeed } from './change-feed.ts'

describe('replicas that lose the database at the same time', () => {
  it('reconnect one by one, with individual growing backoff', async () => {
    const pauses = Array.from({ length: 50 }, (): number[] => [])
    const feeds = pauses.map(
      (own) =>
        new ChangeFeed({
          connect: () => {
            throw new Error('nobody listens')
          },
          read: async () => {},
          look: async () => {},
          events: { connected: () => {}, lost: (_, retryIn) => void own.push(retryIn) },
        }),
    )
    const running = feeds.map((feed) => feed.run())
    const end = Date.now() + 30_000
    while (pauses.some((own) => own.length < 2) && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    await Promise.all(feeds.map((feed) => feed.close()))
    await Promise.all(running)
    for (const [index, [min, max]] of [
      [100, 300],
      [200, 600],
    ].entries() as ArrayIterator<[number, [number, number]]>) {
      const all = pauses.map((own) => own[index] ?? assert.fail('it did not try again'))
      assert.ok(
        all.every((pause) => pause >= min && pause <= max),
        String(all),
      )
      // Spread over the whole range, so that replicas do not query a recovered database together.
      const inTenths = new Set(all.map((pause) => Math.floor(((pause - min) / (max - min)) * 10)))
      assert.ok(inTenths.size >= 6, `${inTenths.size} of 10`)
    }
  })

  it('wait about ten seconds at most', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const pauses: number[] = []
    const feed = new ChangeFeed({
      connect: (): Client => {
        throw new Error('nobody listens')
      },
      read: async () => {},
      look: async () => {},
      events: { connected: () => {}, lost: (_, retryIn) => void pauses.push(retryIn) },
    })
    const running = feed.run()
    for (let round = 0; round < 20; round++) {
      for (let turn = 0; turn < 20; turn++) await Promise.resolve()
      context.mock.timers.tick(15_000)
    }
    await feed.close()
    await running
    assert.ok(pauses.length >= 10, String(pauses.length))
    assert.ok(Math.max(...pauses) > 5_000 && Math.max(...pauses) <= 15_000, String(pauses))
  })
})
