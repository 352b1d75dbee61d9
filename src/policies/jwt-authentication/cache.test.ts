import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { digestOf, TokenCache } from './cache.ts'
import { NOW } from './fixtures/tokens.ts'
import type { VerificationKeys } from './keys.ts'
import type { Verified } from './verify.ts'

const noKeys = (): VerificationKeys => ({ byKid: new Map(), faults: [] })

function source() {
  return { current: noKeys() as VerificationKeys | undefined, refetch: () => undefined }
}

function verified(from = source(), until = NOW + 1000, size = 100): Verified {
  return { claims: {}, until, keys: from.current ?? noKeys(), source: from, size }
}

describe('the cache of verified tokens', () => {
  it('keeps tokens until they expire', () => {
    const cache = new TokenCache()
    const token = verified()
    cache.set('a', token)
    assert.equal(cache.get('a', NOW), token)
    assert.equal(cache.get('a', NOW + 999), token)
    assert.equal(cache.get('a', NOW + 1000), undefined)
    assert.equal(cache.size, 0)
    assert.equal(cache.bytes, 0)
    assert.deepEqual([cache.hits, cache.misses], [2, 1])
  })

  it('keeps tokens until the keys of their issuer change', () => {
    const cache = new TokenCache()
    const own = source()
    cache.set('a', verified(own))
    cache.set('b', verified())
    own.current = noKeys()
    assert.equal(cache.get('a', NOW), undefined)
    assert.notEqual(cache.get('b', NOW), undefined)
    own.current = undefined
    cache.set('a', { ...verified(), source: own })
    assert.equal(cache.get('a', NOW), undefined)
  })

  it('limits the number of tokens, evicting the least recently used first', () => {
    const cache = new TokenCache({ entries: 4, bytes: 1e9 })
    for (const digest of ['a', 'b', 'c', 'd']) cache.set(digest, verified())
    cache.get('a', NOW)
    cache.set('e', verified())
    cache.set('f', verified())
    const all = ['a', 'b', 'c', 'd', 'e', 'f']
    const known = all.filter((digest) => cache.get(digest, NOW) !== undefined)
    assert.deepEqual(known, ['a', 'd', 'e', 'f'])
  })

  it('never evicts a token in constant use', () => {
    const cache = new TokenCache({ entries: 100, bytes: 1e9 })
    cache.set('busy', verified())
    for (let i = 0; i < 10_000; i++) {
      cache.set(`${i}`, verified())
      if (i % 49 === 0) assert.notEqual(cache.get('busy', NOW), undefined, `${i}`)
    }
    assert.equal(cache.size, 100)
  })

  it('limits its size in bytes', () => {
    const cache = new TokenCache({ entries: 1000, bytes: 10_000 })
    for (let i = 0; i < 100; i++) cache.set(`${i}`, verified(source(), NOW + 1000, 500))
    assert.ok(cache.bytes <= 10_000 && cache.size === 3, `${cache.size}: ${cache.bytes}`)
    cache.set('huge', verified(source(), NOW + 1000, 100_000))
    assert.equal(cache.get('huge', NOW), undefined)
    assert.equal(cache.size, 3)
  })

  it('stores a token once, however often it is verified', () => {
    const cache = new TokenCache()
    for (let i = 0; i < 3; i++) cache.set('a', verified())
    assert.equal(cache.size, 1)
    assert.equal(cache.bytes, 512 + 400)
  })

  it('uses a digest as key, from which the token cannot be recovered', () => {
    assert.match(digestOf('header.payload.signature'), /^[\w-]{43}$/)
    assert.notEqual(digestOf('a.b.c'), digestOf('a.b.d'))
  })
})
