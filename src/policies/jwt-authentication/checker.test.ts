import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { policySchema } from '../schema.ts'
import { type JwtDeps, TokenChecker } from './checker.ts'
import { ISSUER, keySetText, NOW, signerOf, tokenOf } from './fixtures/tokens.ts'
import { isRejection } from './rejection.ts'
import type { JwtAuthentication } from './schema.ts'

const SIGNER = signerOf('ES256')
const TOKEN = tokenOf(SIGNER)

function open(written: object, policyDeps: Partial<JwtDeps> = {}): TokenChecker {
  const policy = policySchema('jwtAuthentication').parse(written) as JwtAuthentication
  return new TokenChecker(policy, {
    date: () => NOW,
    fetch: async () => ({ kind: 'text', text: keySetText(SIGNER), maxAge: undefined }),
    clock: { now: () => 0, random: () => 0, after: () => () => {} },
    ...policyDeps,
  })
}

describe('a configured policy', () => {
  it('verifies a token once', () => {
    const checker = open({ issuer: ISSUER, jwks: keySetText(SIGNER) })
    const first = checker.check(TOKEN)
    assert.ok(!isRejection(first))
    assert.equal(checker.check(TOKEN), first)
    assert.deepEqual([checker.cache.hits, checker.cache.misses, checker.cache.size], [1, 1, 1])
  })

  it('expires a frequent token like any other', () => {
    let now = NOW
    const looked: boolean[] = []
    const policyDeps = {
      date: () => now,
      tokenLookedUp: (isKnown: boolean) => looked.push(isKnown),
    }
    const checker = open({ issuer: ISSUER, jwks: keySetText(SIGNER) }, policyDeps)
    const first = checker.check(TOKEN)
    for (let i = 0; i < 3; i++) assert.equal(checker.check(TOKEN), first)
    assert.deepEqual(looked, [false, true, true, true])
    assert.equal(checker.cache.hits, 1, 'later ones are not looked up by digest')
    const forged = `${TOKEN.slice(0, 40)}${TOKEN[40] === 'A' ? 'B' : 'A'}${TOKEN.slice(41)}`
    assert.ok(isRejection(checker.check(forged)), 'with the same end')
    assert.equal(checker.check(TOKEN), first)
    now += 10 * 365 * 86_400_000
    assert.ok(isRejection(checker.check(TOKEN)), 'when it has expired')
  })

  it('caches no rejected token, and does not read one that is too large', () => {
    const checker = open({ issuer: ISSUER, jwks: keySetText(SIGNER) })
    checker.check('x')
    checker.check('x'.repeat(20_000))
    assert.deepEqual([checker.cache.size, checker.cache.misses], [0, 1])
  })

  it('reports which configured keys are unusable', () => {
    const keys = [{ kty: 'oct', kid: 'secret', k: 'AAAA' }]
    const { faults, remotes } = open({ issuer: ISSUER, jwks: JSON.stringify({ keys }) })
    const problem = 'symmetric keys are not supported'
    assert.deepEqual(faults, [[ISSUER, { index: 0, kid: 'secret', problem }]])
    assert.deepEqual(remotes, [])
  })

  it('reports the state of remote keys, and closes', async () => {
    const seen: string[] = []
    const checker = open(
      {
        providers: [
          { issuer: ISSUER, jwks: { url: 'https://issuer.example/keys' } },
          { issuer: 'local', jwks: keySetText(SIGNER) },
        ],
      },
      { refreshed: (issuer, { outcome, trigger }) => seen.push(`${issuer} ${trigger} ${outcome}`) },
    )
    await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(seen, [`${ISSUER} start changed`])
    const [[issuer, keys] = []] = checker.remotes
    assert.equal(issuer, ISSUER)
    assert.deepEqual(keys?.status().kids, ['es256'])
    checker.close()
    assert.equal(keys?.refetch(), undefined)
    assert.ok(!isRejection(checker.check(TOKEN)), 'requests that began before are still served')
  })
})
