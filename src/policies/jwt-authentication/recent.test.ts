import assert from 'node:assert/strict'
import { it } from 'node:test'
import { RecentTokens } from './recent.ts'
import type { Verified } from './verify.ts'

it('recent tokens are evicted when the keys change, on expiry, and by other tokens', () => {
  const source = { current: 'old keys' }
  const verified = { until: 100, source, keys: 'old keys' } as unknown as Verified
  const recent = new RecentTokens()
  recent.set('a.b.same', verified)
  assert.equal(recent.get('a.b.same', 99), verified)
  assert.equal(recent.get('x.b.same', 99), undefined, 'another token at the same place')
  assert.equal(recent.get('a.b.same', 100), undefined)
  assert.equal(recent.get('a.b.same', 99), undefined, 'what has expired is gone')
  recent.set('a.b.same', verified)
  source.current = 'new keys'
  assert.equal(recent.get('a.b.same', 99), undefined)
  recent.set('a.b.same', verified)
  recent.set('x.b.same', { ...verified, keys: 'new keys' } as unknown as Verified)
  source.current = 'new keys'
  assert.notEqual(recent.get('x.b.same', 99), undefined)
  assert.equal(recent.get('a.b.same', 99), undefined)
})
