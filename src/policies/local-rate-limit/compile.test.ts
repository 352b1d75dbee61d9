import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  decide,
  headersOf,
  modelOf,
  outcome,
  programOf,
  TestServices,
  type WrittenModel,
} from '../../../test/program/models.ts'
import { compileProgram } from '../../program/compile.ts'
import { Buckets } from './buckets.ts'

const limited = (localRateLimit: unknown): WrittenModel => ({
  routes: [{ policies: { localRateLimit } }],
})

describe('localRateLimit', () => {
  it('admits as many requests as the bucket holds, and more once it refills', async () => {
    const services = new TestServices()
    const program = programOf(limited({ requests: 2, unit: 'Seconds' }), services)
    const at = async (time: number) => {
      services.time = time
      return (await outcome(program)).split(' ')[0]
    }
    const seen = []
    for (const time of [0, 10, 20, 999, 1000, 1001, 1002, 9000, 9001, 9002]) {
      seen.push(await at(time))
    }
    assert.deepEqual(seen, ['up', 'up', '429', '429', 'up', 'up', '429', 'up', 'up', '429'])
  })

  it('sends the time until the next attempt', async () => {
    const services = new TestServices()
    const program = programOf(limited({ requests: 1, unit: 'Minutes' }), services)
    await decide(program)
    services.time = 12_345
    const { reply } = await decide(program)
    assert.equal(reply?.status, 429)
    assert.equal(reply?.reason, 'rate-limit')
    assert.deepEqual(headersOf(reply), {
      'retry-after': '48',
      'ratelimit-limit': '1',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '48',
    })
  })

  it('supports the bucket form and a burst', async () => {
    for (const policy of [
      { maxTokens: 3, tokensPerFill: 1, fillInterval: '1s' },
      { requests: 1, unit: 'Seconds', burst: 3 },
    ]) {
      const services = new TestServices()
      const program = programOf(limited(policy), services)
      const seen = []
      for (const time of [0, 0, 0, 0, 1000, 1000]) {
        services.time = time
        seen.push(await outcome(program))
      }
      assert.deepEqual(seen, ['up', 'up', 'up', '429 rate-limit', 'up', '429 rate-limit'])
    }
  })

  it('counts each key separately, and requests without a value together', async () => {
    const key = "request.headers['x-user']"
    const program = programOf(limited({ requests: 1, unit: 'Hours', key }))
    const by = (user?: string) =>
      outcome(program, user === undefined ? {} : { headers: { 'x-user': user } })
    const long = 'a'.repeat(5000)
    for (const user of ['alice', 'bob', undefined, '', '-', `${long}1`, `${long}2`]) {
      assert.equal(await by(user), 'up', String(user).slice(0, 8))
      assert.equal(await by(user), '429 rate-limit', String(user).slice(0, 8))
    }
  })

  it('accepts any value as a key', async () => {
    const key = '[request.method, string(source.address)]'
    const program = programOf(limited({ requests: 1, unit: 'Hours', key }))
    assert.equal(await outcome(program), 'up')
    assert.equal(await outcome(program, { method: 'PUT' }), 'up')
    assert.equal(await outcome(program, { address: '10.0.0.8' }), 'up')
    assert.equal(await outcome(program), '429 rate-limit')
  })

  it('checks all limits before it takes from one', async () => {
    const services = new TestServices()
    const program = programOf(
      limited([
        { requests: 3, unit: 'Hours' },
        { requests: 1, unit: 'Seconds' },
      ]),
      services,
    )
    const seen = []
    for (const time of [0, 1, 2, 1000, 2000, 3000]) {
      services.time = time
      seen.push(await outcome(program))
    }
    const no = '429 rate-limit'
    assert.deepEqual(seen, ['up', no, no, 'up', 'up', no])
  })

  it('tracks no more keys than configured, and evicts the least recently used first', () => {
    const limit = { type: 'requests', maxKeys: 2, capacity: 5, refill: 1, interval: 1000 } as const
    const buckets = new Buckets(limit)
    const take = (key: string) => --buckets.at(key, 0).left
    assert.deepEqual(
      [take('a'), take('b'), take('a'), take('c'), take('a'), take('b')],
      [4, 4, 3, 4, 2, 4],
    )
    assert.equal(buckets.size, 2)
  })

  it('shares one count among all routes below its attachment point', async () => {
    const localRateLimit = { requests: 1, unit: 'Hours' }
    const paths = ['/a', '/b'].map(
      (value) => ({ matches: [{ path: { kind: 'prefix', value } }] }) as const,
    )
    const above = programOf({ gateway: { localRateLimit }, routes: paths })
    assert.equal(await outcome(above, { url: '/a' }), 'up')
    assert.equal(await outcome(above, { url: '/b' }), '429 rate-limit')
    const each = programOf({
      routes: paths.map((route) => ({ ...route, policies: { localRateLimit } })),
    })
    assert.equal(await outcome(each, { url: '/a' }), 'up')
    assert.equal(await outcome(each, { url: '/b' }), 'up')
  })

  it('keeps its counts across a reload if it is unchanged', async () => {
    const services = new TestServices()
    const hourly = (requests: number) => modelOf(limited({ requests, unit: 'Hours' }))
    const first = compileProgram(hourly(1), undefined, services)
    await outcome(first)
    const same = compileProgram(hourly(1), first, services)
    assert.equal(await outcome(same), '429 rate-limit')
    const changed = compileProgram(hourly(2), same, services)
    assert.equal(await outcome(changed), 'up')
    assert.equal(changed.state.size, 1, 'what is not used any more is forgotten')
  })
})
