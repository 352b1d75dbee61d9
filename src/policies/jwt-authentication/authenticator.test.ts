import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Asked, exchangeOf } from '../../../test/fuzz/exchanges.ts'
import { headersOf, policies } from '../../../test/program/models.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import type { Reply } from '../../exchange/reply.ts'
import type { ValidPolicy } from '../../model/policy.ts'
import { CompileContexts } from '../../program/compile-context.ts'
import { compileAuthentication } from '../authenticator.ts'
import { openJwt } from './authenticator.ts'
import type { JwtDeps } from './checker.ts'
import { ISSUER, keySetText, NOW, SECONDS, signerOf, tokenOf } from './fixtures/tokens.ts'
import type { JwtAuthentication } from './schema.ts'

const SIGNER = signerOf('ES256')
const STRANGER = signerOf('ES256', 'es256', 'stranger')
const GOOD = tokenOf(SIGNER)
const EXPIRED = tokenOf(SIGNER, { exp: SECONDS - 1 })
const jwks = keySetText(SIGNER)

interface ServiceResponse {
  readonly exchange: Exchange
  readonly reply: Reply | undefined
  readonly isAsync: boolean
}

const DEPS: JwtDeps = {
  date: () => NOW,
  fetch: () => Promise.reject(new Error('nothing is to be fetched')),
  clock: { now: () => 0, random: () => 0, after: () => () => {} },
}

/** Policies as configured, those of the gateway first. */
function open(written: object | readonly object[], policyDeps: Partial<JwtDeps> = {}) {
  const all = (Array.isArray(written) ? written : [written]).flatMap((jwtAuthentication, index) =>
    policies({ jwtAuthentication }, 'route', 'traffic', `policy-${index}`),
  ) as unknown as [ValidPolicy<JwtAuthentication>]
  const context = new CompileContexts({
    now: () => 0,
    previous: undefined,
    placeOf: () => '',
    policyDeps: { ...DEPS, ...policyDeps },
  }).open()
  const { step } = compileAuthentication(all, context, openJwt)
  return async (asked: Asked = {}): Promise<ServiceResponse> => {
    const exchange = exchangeOf(asked)
    const outcome = step?.(exchange)
    return { exchange, reply: await outcome, isAsync: outcome instanceof Promise }
  }
}

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })

/** `alice`, `nobody` or the response. */
function said({ exchange, reply }: ServiceResponse): string {
  if (reply !== undefined) return `${reply.status} ${reply.detail?.split(':')[0]}`
  return String(exchange.jwt?.['sub'] ?? 'nobody')
}

describe('modes', () => {
  for (const [what, asked, strict, optional, permissive] of [
    ['a good token', bearer(GOOD), 'alice', 'alice', 'alice'],
    ['none', {}, '401 missing', 'nobody', 'nobody'],
    ['an expired one', bearer(EXPIRED), '401 expired', '401 expired', 'nobody'],
    ['a forged one', bearer(tokenOf(STRANGER)), '401 bad-signature', '401 bad-signature', 'nobody'],
    ['an empty one', bearer(''), '401 malformed', '401 malformed', 'nobody'],
    ['a huge one', bearer('x'.repeat(20_000)), '401 too-large', '401 too-large', 'nobody'],
    [
      'another scheme',
      { headers: { authorization: 'Basic YTpi' } },
      '401 missing',
      'nobody',
      'nobody',
    ],
    ['an empty header', { headers: { authorization: '' } }, '401 missing', 'nobody', 'nobody'],
    [
      'the scheme alone',
      { headers: { authorization: 'Bearer' } },
      '401 malformed',
      '401 malformed',
      'nobody',
    ],
    [
      'the scheme in capitals',
      { headers: { authorization: `BEARER ${GOOD}` } },
      'alice',
      'alice',
      'alice',
    ],
    ['more spaces', { headers: { authorization: `Bearer   ${GOOD}` } }, 'alice', 'alice', 'alice'],
    [
      'a tab',
      { headers: { authorization: `Bearer\t${GOOD}` } },
      '401 malformed',
      '401 malformed',
      'nobody',
    ],
    [
      'the token without a scheme',
      { headers: { authorization: GOOD } },
      '401 missing',
      'nobody',
      'nobody',
    ],
    [
      'the same token twice',
      bearer(`${GOOD}, Bearer ${GOOD}`),
      '401 repeated',
      '401 repeated',
      'nobody',
    ],
    ['a good and a bad one', bearer(`${GOOD}, Bearer x`), '401 repeated', '401 repeated', 'nobody'],
    ['a bad and a good one', bearer(`x, Bearer ${GOOD}`), '401 repeated', '401 repeated', 'nobody'],
    [
      'Basic and then a token',
      { headers: { authorization: `Basic YTpi, Bearer ${GOOD}` } },
      '401 repeated',
      '401 repeated',
      'nobody',
    ],
    [
      'a token and then Basic',
      bearer(`${GOOD}, Basic YTpi`),
      '401 repeated',
      '401 repeated',
      'nobody',
    ],
  ] as const) {
    it(`${what}: ${strict}, Optional ${optional}, Permissive ${permissive}`, async () => {
      const seen = []
      for (const mode of ['Strict', 'Optional', 'Permissive']) {
        seen.push(said(await open({ mode, issuer: ISSUER, jwks })(asked)))
      }
      assert.deepEqual(seen, [strict, optional, permissive])
    })
  }
})

describe('the 401 response', () => {
  const ask = open({ issuer: ISSUER, jwks })
  it('names the scheme, and no error if the token is missing', async () => {
    const { reply } = await ask()
    assert.equal(reply?.reason, 'authentication')
    assert.deepEqual(headersOf(reply), { 'www-authenticate': 'Bearer realm="portcullis"' })
  })

  it('is the same for every invalid token', async () => {
    for (const token of ['', 'x', EXPIRED, tokenOf(STRANGER), tokenOf(SIGNER, { iss: 'x' })]) {
      const { reply } = await ask(bearer(token))
      assert.ok(reply !== undefined)
      const { detail, ...shown } = reply
      assert.ok(detail)
      assert.equal(shown.body, '')
      assert.deepEqual(headersOf(shown), {
        'www-authenticate': 'Bearer realm="portcullis", error="invalid_token"',
      })
    }
  })
})

describe('the location of the token', () => {
  const at = (location: object, more: object = {}) =>
    open({ mode: 'Optional', location, issuer: ISSUER, jwks, ...more })
  const cookie = (value: string) => ({ headers: { cookie: value } })

  for (const [location, asked, response] of [
    [{ header: { name: 'X-Token' } }, { headers: { 'x-token': GOOD } }, 'alice'],
    [
      { header: { name: 'X-Token' } },
      { headers: { 'x-token': `${GOOD}, ${GOOD}` } },
      '401 repeated',
    ],
    [{ header: { name: 'X-Token' } }, bearer(GOOD), 'nobody'],
    [
      { header: { name: 'X-Token', prefix: 'v1.' } },
      { headers: { 'x-token': `v1.${GOOD}` } },
      'alice',
    ],
    [{ cookie: { name: 'sid' } }, cookie(`sid=${GOOD}`), 'alice'],
    [{ cookie: { name: 'sid' } }, cookie(`a=b; sid="${GOOD}"; c=d`), 'alice'],
    [{ cookie: { name: 'sid' } }, cookie(`xsid=${GOOD}`), 'nobody'],
    [{ cookie: { name: 'sid' } }, cookie(`SID=${GOOD}`), 'nobody'],
    [{ cookie: { name: 'sid' } }, cookie(`sid=${GOOD}; sid=${GOOD}`), '401 repeated'],
    [{ cookie: { name: 'sid' } }, cookie('sid'), '401 malformed'],
    [{ queryParameter: { name: 't' } }, { url: `/?t=${GOOD}` }, 'alice'],
    [{ queryParameter: { name: 't' } }, { url: `/?a=1&t=${GOOD}&b=2` }, 'alice'],
    [{ queryParameter: { name: 't' } }, { url: `/?%74=${GOOD}` }, 'alice'],
    [{ queryParameter: { name: 't' } }, { url: `/?t=${GOOD}&%74=x` }, '401 repeated'],
    [{ queryParameter: { name: 't' } }, { url: '/?t=%zz' }, '401 malformed'],
    [{ queryParameter: { name: 't' } }, { url: '/?a=t' }, 'nobody'],
    [{ expression: "request.headers['x-token']" }, { headers: { 'x-token': GOOD } }, 'alice'],
    [{ expression: "request.headers['x-token']" }, {}, 'nobody'],
  ] as const) {
    const name = `${JSON.stringify(location)} ${JSON.stringify(asked).replaceAll(GOOD, 'TOKEN')}`
    it(`${name}: ${response}`, async () => assert.equal(said(await at(location)(asked)), response))
  }

  it('the token is not forwarded by default', async () => {
    const { exchange } = await open({ issuer: ISSUER, jwks })(bearer(GOOD))
    assert.deepEqual(exchange.requestEdit.removed, ['authorization'])
    const kept = await open({ issuer: ISSUER, jwks, forward: true })(bearer(GOOD))
    assert.deepEqual(kept.exchange.requestEdit.removed, [])
    const bad = await open({ mode: 'Permissive', issuer: ISSUER, jwks })(bearer(EXPIRED))
    assert.deepEqual(bad.exchange.requestEdit.removed, ['authorization'])
    const basic = { headers: { authorization: 'Basic YTpi' } }
    const other = await open({ mode: 'Optional', issuer: ISSUER, jwks })(basic)
    assert.deepEqual(other.exchange.requestEdit.removed, [])
  })

  it('other cookies and parameters are forwarded', async () => {
    const byCookie = at({ cookie: { name: 'sid' } })
    const { exchange } = await byCookie(cookie(`a=b; sid=${GOOD};c=d`))
    assert.deepEqual(exchange.requestEdit.added, [['cookie', 'a=b; c=d']])
    const alone = await byCookie(cookie(`sid=${GOOD}`))
    assert.deepEqual(alone.exchange.requestEdit.removed, ['cookie'])
    assert.deepEqual(alone.exchange.requestEdit.added, [])
    const byQuery = at({ queryParameter: { name: 't' } })
    assert.equal((await byQuery({ url: `/?a=%20&t=${GOOD}&b` })).exchange.search, '?a=%20&b')
    assert.equal((await byQuery({ url: `/?t=${GOOD}` })).exchange.search, '')
  })
})

describe('several policies', () => {
  const second = signerOf('EdDSA')
  const gateway = { issuer: ISSUER, jwks }
  const route = {
    issuer: 'https://other.example',
    jwks: keySetText(second),
    location: { header: { name: 'x-token' } },
  }
  const other = tokenOf(second, { iss: 'https://other.example', sub: 'bob' })
  const headers = { authorization: `Bearer ${GOOD}`, 'x-token': other }

  it('must all accept; the claims are those of the most specific', async () => {
    const ask = open([gateway, route])
    assert.equal(said(await ask({ headers })), 'bob')
    assert.equal(said(await ask(bearer(GOOD))), '401 missing')
    assert.equal(said(await ask({ headers: { 'x-token': other } })), '401 missing')
    assert.equal(
      said(await ask({ headers: { ...headers, 'x-token': GOOD } })),
      '401 issuer-mismatch',
    )
  })

  it('without a token leave the claims of the others', async () => {
    const ask = open([gateway, { ...route, mode: 'Optional' }])
    assert.equal(said(await ask(bearer(GOOD))), 'alice')
  })
})

describe('keys and tokens', () => {
  it('verifies a token once, and freezes its claims', async () => {
    const ask = open({ issuer: ISSUER, jwks })
    const first = await ask(bearer(GOOD))
    const again = await ask(bearer(GOOD))
    assert.equal(first.isAsync, false)
    assert.equal(again.exchange.jwt, first.exchange.jwt)
    assert.ok(Object.isFrozen(first.exchange.jwt))
  })

  it('expires a token that was verified before', async () => {
    let time = NOW
    const ask = open({ issuer: ISSUER, jwks, leeway: '10s' }, { date: () => time })
    assert.equal(said(await ask(bearer(GOOD))), 'alice')
    time = NOW + 3_609_999
    assert.equal(said(await ask(bearer(GOOD))), 'alice')
    time = NOW + 3_610_000
    assert.equal(said(await ask(bearer(GOOD))), '401 expired')
  })

  it('rejects tokens if keys cannot be read', async () => {
    assert.equal(
      said(await open({ issuer: ISSUER, jwks: { file: 'x' } })(bearer(GOOD))),
      '401 keys-unavailable',
    )
  })

  it('waits for remote keys, and fetches them again for an unknown kid', async () => {
    let published = jwks
    let fetches = 0
    let now = 0
    const ask = open(
      { issuer: ISSUER, jwks: { url: 'https://issuer.example/keys' } },
      {
        clock: { ...DEPS.clock, now: () => now },
        fetch: async () => {
          fetches++
          return { kind: 'text', text: published, maxAge: undefined }
        },
      },
    )
    const first = await ask(bearer(GOOD))
    assert.equal(said(first), 'alice')
    assert.equal(first.isAsync, true)
    assert.equal((await ask(bearer(GOOD))).isAsync, false)
    const next = signerOf('ES256', 'next', 'next')
    published = keySetText(next)
    now = 1000
    assert.equal(said(await ask(bearer(tokenOf(next)))), 'alice')
    assert.equal(fetches, 2)
    assert.equal(said(await ask(bearer(GOOD))), '401 unknown-kid', 'its key is gone')
    assert.equal(fetches, 2, 'not again so soon')
  })

  it('responds 401 if an issuer is unreachable, without waiting forever', async () => {
    const ask = open({ issuer: ISSUER, jwks: { url: 'https://issuer.example/keys' } })
    assert.equal(said(await ask(bearer(GOOD))), '401 keys-unavailable')
  })
})
