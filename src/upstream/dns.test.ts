import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import type { DnsSettings } from '../model/settings.ts'
import type { Address } from './addresses.ts'
import { type Resolution, Resolver } from './dns.ts'
import type { Answer, NameSource } from './name-source.ts'

const FOUR: Address = { address: '192.0.2.4', family: 4 }
const OTHER: Address = { address: '192.0.2.5', family: 4 }
const SIX: Address = { address: '2001:db8::6', family: 6 }

interface Scripted extends NameSource {
  response: Answer | Error
  asked: number
}

function scripted(response: Answer | Error): Scripted {
  const source: Scripted = {
    response,
    asked: 0,
    find: async () => {
      source.asked++
      if (source.response instanceof Error) throw source.response
      return source.response
    },
    close: () => {},
  }
  return source
}

const found = (...addresses: readonly Address[]): Answer => ({ addresses, ttl: 10_000 })

/** Advances the timers and lets pending promises resolve. */
async function pass(milliseconds: number): Promise<void> {
  mock.timers.tick(milliseconds)
  for (let i = 0; i < 10; i++) await Promise.resolve()
}

function scene(
  source: NameSource,
  lookupFamily: DnsSettings['lookupFamily'] = 'All',
  max?: number,
): Resolver {
  return new Resolver(
    { lookupFamily },
    { source, now: () => Date.now(), random: () => 0.5, ...(max === undefined ? {} : { max }) },
  )
}

const texts = (resolution: Resolution) =>
  typeof resolution === 'string' ? resolution : resolution.map(({ address }) => address)

describe('name resolution', { concurrency: false }, () => {
  const timed = (sentence: string, test: () => Promise<void>) =>
    it(sentence, async () => {
      mock.timers.enable({ apis: ['setTimeout', 'Date'] })
      try {
        await test()
      } finally {
        mock.timers.reset()
      }
    })

  timed('an address needs no look-up', async () => {
    const source = scripted(found(FOUR))
    const resolver = scene(source)
    assert.deepEqual(resolver.resolve('10.0.0.7'), [{ address: '10.0.0.7', family: 4 }])
    assert.deepEqual(resolver.resolve('::1'), [{ address: '::1', family: 6 }])
    assert.equal(source.asked, 0)
  })

  timed('many who ask at once wait for one look-up, later ones for none', async () => {
    const source = scripted(found(FOUR))
    const resolver = scene(source)
    const all = await Promise.all(Array.from({ length: 20 }, () => resolver.resolve('A.test')))
    assert.deepEqual(new Set(all.map((one) => texts(one)[0])), new Set(['192.0.2.4']))
    assert.ok(Array.isArray(resolver.resolve('a.TEST')))
    assert.equal(source.asked, 1)
    resolver.close()
  })

  timed('a name in use is looked up again before it expires', async () => {
    const source = scripted(found(FOUR))
    const resolver = scene(source)
    await resolver.resolve('a.test')
    resolver.resolve('a.test')
    source.response = found(OTHER)
    await pass(8_400)
    assert.equal(source.asked, 1)
    await pass(200)
    assert.equal(source.asked, 2)
    assert.deepEqual(texts(await resolver.resolve('a.test')), ['192.0.2.5'])
    resolver.close()
  })

  timed('a name that nobody asks for is forgotten', async () => {
    const source = scripted(found(FOUR))
    const resolver = scene(source)
    await resolver.resolve('a.test')
    await pass(8_500)
    await pass(1_600)
    assert.deepEqual([source.asked, resolver.size], [1, 0])
  })

  timed(
    'while the name server fails the last addresses stay, and it is asked less often',
    async () => {
      const source = scripted(found(FOUR))
      const resolver = scene(source)
      await resolver.resolve('a.test')
      source.response = new Error('SERVFAIL')
      for (let i = 0; i < 600; i++) {
        assert.deepEqual(texts(await resolver.resolve('a.test')), ['192.0.2.4'])
        await pass(1_000)
      }
      assert.ok(source.asked > 15 && source.asked < 40, `${source.asked}`)
      source.response = found(OTHER)
      await pass(30_000)
      assert.deepEqual(texts(await resolver.resolve('a.test')), ['192.0.2.5'])
      resolver.close()
    },
  )

  timed('a name that is gone is believed to be so after half a minute', async () => {
    const source = scripted(found(FOUR))
    const resolver = scene(source)
    await resolver.resolve('a.test')
    source.response = { addresses: [], ttl: 0 }
    const seen: string[] = []
    for (let i = 0; i < 60; i++) {
      seen.push(String(texts(await resolver.resolve('a.test'))))
      await pass(1_000)
    }
    assert.equal(seen[25], '192.0.2.4')
    assert.equal(seen[50], 'dns-no-name')
    resolver.close()
  })

  for (const [sentence, response, word, lifetime] of [
    ['a name that does not exist', { addresses: [], ttl: 0 }, 'dns-no-name', 5_000],
    ['a failure', new Error('SERVFAIL'), 'dns', 2_000],
  ] as const) {
    timed(`${sentence} is remembered for a moment`, async () => {
      const source = scripted(response)
      const resolver = scene(source)
      assert.equal(await resolver.resolve('a.test'), word)
      await pass(lifetime - 100)
      assert.equal(resolver.resolve('a.test'), word)
      assert.equal(source.asked, 1)
      await pass(200)
      source.response = found(FOUR)
      assert.deepEqual(texts(await resolver.resolve('a.test')), ['192.0.2.4'])
      resolver.close()
    })
  }

  for (const [lookupFamily, expected] of [
    ['All', ['2001:db8::6', '192.0.2.4', '192.0.2.5']],
    ['V4Preferred', ['192.0.2.4', '2001:db8::6', '192.0.2.5']],
  ] as const) {
    timed(`${lookupFamily}: families take turns, and so do addresses`, async () => {
      const resolver = scene(scripted(found(FOUR, OTHER, SIX)), lookupFamily)
      assert.deepEqual(texts(await resolver.resolve('a.test')), expected)
      const again = texts(await resolver.resolve('a.test'))
      assert.deepEqual(again.indexOf('192.0.2.5') < again.indexOf('192.0.2.4'), true)
      resolver.close()
    })
  }

  timed('more names than the limit push out the first', async () => {
    const source = scripted(found(FOUR))
    const resolver = scene(source, 'All', 3)
    for (let i = 0; i < 10; i++) await resolver.resolve(`${i}.test`)
    assert.equal(resolver.size, 3)
    resolver.close()
    assert.equal(resolver.size, 0)
  })
})
