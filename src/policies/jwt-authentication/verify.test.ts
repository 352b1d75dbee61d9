import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  ALL_ALGORITHMS,
  encode,
  GOOD_CLAIMS,
  ISSUER,
  keySetText,
  NOW,
  privateKey,
  providersOf,
  SECONDS,
  type Signer,
  signature,
  signerOf,
  tokenOf,
} from './fixtures/tokens.ts'
import { fixedKeys, parseKeys } from './keys.ts'
import { isRejection } from './rejection.ts'
import { malformedClaim, type Provider, providersByIssuer, verifyToken } from './verify.ts'

const SIGNERS = ALL_ALGORITHMS.map((alg) => signerOf(alg))
const ES256 = signerOf('ES256')
const ALL = providersOf(SIGNERS)

/** `ok`, or the fault. */
function verdict(token: string, providers = ALL, now = NOW): string {
  const outcome = verifyToken(token, providers, now)
  return isRejection(outcome) ? outcome.fault : 'ok'
}

describe('a token of each algorithm', () => {
  for (const signer of SIGNERS) {
    it(`${signer.alg} is taken, and not when it was changed`, () => {
      const token = tokenOf(signer, { roles: ['a', 'b'], nested: { deep: [1, 2.5, null] } })
      const outcome = verifyToken(token, ALL, NOW)
      assert.ok(!isRejection(outcome))
      assert.deepEqual(outcome.claims, {
        ...GOOD_CLAIMS,
        roles: ['a', 'b'],
        nested: { deep: [1, 2.5, null] },
      })
      assert.equal(outcome.until, NOW + 3_600_000)
      const [head = '', , tail = ''] = token.split('.')
      const other = encode({ ...GOOD_CLAIMS, sub: 'bob' })
      assert.equal(verdict(`${head}.${other}.${tail}`), 'bad-signature')
    })

    it(`${signer.alg}: another key under the same kid is no good`, () => {
      const stranger = { ...signer, key: signerOf(signer.alg, signer.kid, 'stranger').key }
      assert.equal(verdict(tokenOf(stranger)), 'bad-signature')
    })

    it(`${signer.alg}: signatures of any other length are no good, and break nothing`, () => {
      const token = tokenOf(signer)
      const at = token.lastIndexOf('.') + 1
      const bytes = Buffer.from(token.slice(at), 'base64url')
      for (const length of [1, 2, 8, 63, 65, 70, 72, 95, 97, 131, 133, 255, 257, 600, 4096]) {
        if (length === bytes.length) continue
        const resized = Buffer.concat([bytes, Buffer.alloc(4096)]).subarray(0, length)
        assert.equal(verdict(token.slice(0, at) + encode(resized)), 'bad-signature', `${length}`)
        assert.equal(
          verdict(token.slice(0, at) + encode(Buffer.alloc(length))),
          'bad-signature',
          `${length} zeros`,
        )
      }
    })
  }

  it('accepts Ed448 as EdDSA', () => {
    const signer: Signer = { kid: 'ed448', alg: 'EdDSA', key: privateKey('Ed448') }
    assert.equal(verdict(tokenOf(signer), providersOf([signer])), 'ok')
  })

  it('rejects ECDSA signatures in DER', () => {
    const signed = tokenOf(ES256).split('.').slice(0, 2).join('.')
    const raw = signature(signed, ES256)
    const number = (bytes: Buffer) => {
      const padded = (bytes[0] ?? 0) > 127 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes
      return Buffer.concat([Buffer.from([2, padded.length]), padded])
    }
    const body = Buffer.concat([number(raw.subarray(0, 32)), number(raw.subarray(32))])
    const der = Buffer.concat([Buffer.from([0x30, body.length]), body])
    assert.equal(verdict(`${signed}.${encode(der)}`), 'bad-signature')
  })
})

describe('claims of a correctly signed token', () => {
  const day = 86_400
  /** By default, a token has iss, sub and exp. A string is the whole payload. */
  const CLAIMS: readonly [what: string, claims: string | Record<string, unknown>, said: string][] =
    [
      ['exp in an hour', {}, 'ok'],
      ['exp this very moment', { exp: SECONDS }, 'expired'],
      ['exp a moment ago', { exp: SECONDS - 1 }, 'expired'],
      ['exp half a second ahead', { exp: SECONDS + 0.5 }, 'ok'],
      ['exp of zero', { exp: 0 }, 'expired'],
      ['no exp', `{"iss":"${ISSUER}"}`, 'missing-claim'],
      ['exp null', { exp: null }, 'bad-claim'],
      ['exp a string', { exp: String(SECONDS + day) }, 'bad-claim'],
      ['exp a date', { exp: '2099-01-01T00:00:00Z' }, 'bad-claim'],
      ['exp a list', { exp: [SECONDS + day] }, 'bad-claim'],
      ['exp an object', { exp: { $numberLong: '99999999999' } }, 'bad-claim'],
      ['exp true', { exp: true }, 'bad-claim'],
      ['exp negative', { exp: -1 }, 'bad-claim'],
      ['exp in milliseconds', { exp: NOW + day }, 'bad-claim'],
      ['exp infinite', `{"iss":"${ISSUER}","exp":1e400}`, 'bad-claim'],
      ['exp minus infinite', `{"iss":"${ISSUER}","exp":-1e400}`, 'bad-claim'],
      ['exp of 20 digits', `{"iss":"${ISSUER}","exp":99999999999999999999}`, 'bad-claim'],
      ['exp of 19 digits', `{"iss":"${ISSUER}","exp":9223372036854775807}`, 'bad-claim'],
      ['exp with an exponent', `{"iss":"${ISSUER}","exp":2e9}`, 'ok'],
      ['exp NaN', `{"iss":"${ISSUER}","exp":NaN}`, 'malformed'],
      ['exp Infinity', `{"iss":"${ISSUER}","exp":Infinity}`, 'malformed'],
      ['exp in hexadecimal', `{"iss":"${ISSUER}","exp":0x7fffffff}`, 'malformed'],
      ['exp twice', `{"iss":"${ISSUER}","exp":1,"exp":9999999999}`, 'malformed'],
      [
        'exp twice, once escaped',
        `{"iss":"${ISSUER}","exp":9,"\\u0065xp":9999999999}`,
        'malformed',
      ],
      [
        'exp of the prototype',
        `{"iss":"${ISSUER}","__proto__":{"exp":9999999999}}`,
        'missing-claim',
      ],
      ['Exp', `{"iss":"${ISSUER}","Exp":9999999999}`, 'missing-claim'],
      ['nbf now', { nbf: SECONDS }, 'ok'],
      ['nbf in a second', { nbf: SECONDS + 1 }, 'not-yet-valid'],
      ['nbf a string', { nbf: '0' }, 'bad-claim'],
      ['nbf null', { nbf: null }, 'bad-claim'],
      ['nbf infinite', `{"iss":"${ISSUER}","exp":9999999999,"nbf":-1e999}`, 'bad-claim'],
      ['iat some seconds ahead, as clocks are', { iat: SECONDS + 5 }, 'ok'],
      ['iat after exp', { iat: SECONDS + day }, 'bad-claim'],
      ['iat a string', { iat: 'now' }, 'bad-claim'],
      ['no iss', `{"exp":9999999999}`, 'missing-claim'],
      ['iss null', { iss: null }, 'bad-claim'],
      ['iss a list with the right one', { iss: [ISSUER] }, 'bad-claim'],
      ['iss with a slash more', { iss: `${ISSUER}/` }, 'issuer-mismatch'],
      ['iss in capitals', { iss: ISSUER.toUpperCase() }, 'issuer-mismatch'],
      ['iss with a NUL behind', { iss: `${ISSUER}\0` }, 'issuer-mismatch'],
      ['iss empty', { iss: '' }, 'issuer-mismatch'],
      ['iss a name of every object', { iss: 'constructor' }, 'issuer-mismatch'],
      ['iss twice', `{"iss":"x","iss":"${ISSUER}","exp":9999999999}`, 'malformed'],
      [
        'a member twice, deep inside',
        `{"iss":"${ISSUER}","exp":9999999999,"a":{"b":1,"b":2}}`,
        'malformed',
      ],
      ['aud of any kind, as none is asked for', { aud: 'whoever' }, 'ok'],
      ['aud a number', { aud: 7 }, 'bad-claim'],
      ['aud an object', { aud: { 0: 'x' } }, 'bad-claim'],
      ['aud a list with null', { aud: ['x', null] }, 'bad-claim'],
      ['a payload that is a list', '[]', 'malformed'],
      ['a payload that is text', '"x"', 'malformed'],
      ['a payload that is null', 'null', 'malformed'],
      ['an empty payload', '', 'malformed'],
      ['something behind the payload', `${JSON.stringify(GOOD_CLAIMS)} {}`, 'malformed'],
      ['a byte order mark', `\ufeff${JSON.stringify(GOOD_CLAIMS)}`, 'malformed'],
      [
        'half of a surrogate pair',
        `{"iss":"${ISSUER}","exp":9999999999,"a":"\\ud800"}`,
        'malformed',
      ],
      [
        'too deep',
        `{"iss":"${ISSUER}","exp":9999999999,"a":${'['.repeat(300)}${']'.repeat(300)}}`,
        'malformed',
      ],
    ]
  for (const [what, claims, said] of CLAIMS) {
    it(`${what}: ${said}`, () => assert.equal(verdict(tokenOf(ES256, claims)), said))
  }

  it('rejects bytes that are not UTF-8 as malformed', () => {
    const payload = Buffer.from(`{"iss":"${ISSUER}","exp":9999999999,"a":"\xff"}`, 'latin1')
    const signed = `${encode({ alg: 'ES256', kid: 'es256' })}.${encode(payload)}`
    assert.equal(verdict(`${signed}.${encode(signature(signed, ES256))}`), 'malformed')
  })
})

describe('provider requirements', () => {
  const ask = (provider: Partial<Provider>, claims: Record<string, unknown>, now = NOW) =>
    verdict(tokenOf(ES256, claims), providersOf([ES256], provider), now)

  for (const [aud, said] of [
    ['api', 'ok'],
    ['web', 'ok'],
    [['x', 'api'], 'ok'],
    [[], 'audience-mismatch'],
    [['x'], 'audience-mismatch'],
    ['api ', 'audience-mismatch'],
    ['API', 'audience-mismatch'],
    ['api,web', 'audience-mismatch'],
    ['', 'audience-mismatch'],
    [undefined, 'audience-mismatch'],
    [['api', 7], 'bad-claim'],
    [{ api: true }, 'bad-claim'],
    [[['api']], 'bad-claim'],
    [null, 'bad-claim'],
  ] as const) {
    it(`audience api or web, aud ${JSON.stringify(aud)}: ${said}`, () => {
      assert.equal(ask({ audiences: ['api', 'web'] }, aud === undefined ? {} : { aud }), said)
    })
  }

  it('leeway extends both ends', () => {
    const claims = { nbf: SECONDS + 10, exp: SECONDS + 20 }
    const at = (seconds: number) => ask({ leeway: 5000 }, claims, NOW + seconds * 1000)
    assert.deepEqual([4, 5, 24, 25].map(at), ['not-yet-valid', 'ok', 'ok', 'expired'])
  })

  it('required claims must be own properties', () => {
    assert.equal(ask({ requiredClaims: ['sub'] }, {}), 'ok')
    assert.equal(ask({ requiredClaims: ['sub'] }, { sub: null }), 'ok')
    assert.equal(ask({ requiredClaims: ['email'] }, {}), 'missing-claim')
    assert.equal(ask({ requiredClaims: ['toString'] }, {}), 'missing-claim')
  })

  it('types are those of the provider, and a token must then have one', () => {
    const providers = providersOf([ES256], { types: ['at+jwt', 'x'] })
    const says = (header: Record<string, unknown>) => verdict(tokenOf(ES256, {}, header), providers)
    assert.equal(says({ typ: 'at+jwt' }), 'ok')
    assert.equal(says({ typ: 'application/at+JWT' }), 'ok')
    assert.equal(says({ typ: 'X' }), 'ok')
    assert.equal(says({ typ: 'JWT' }), 'unsupported-type')
    assert.equal(says({}), 'unsupported-type')
  })

  for (const cnf of [
    { jkt: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs' },
    { 'x5t#S256': 'bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2' },
    { jwk: {} },
    { other: 1 },
    {},
    null,
  ])
    it(`a token that is bound to a key is rejected: ${JSON.stringify(cnf)}`, () => {
      assert.equal(ask({}, { cnf }), 'unsupported-cnf')
      assert.notEqual(malformedClaim({ cnf } as never), undefined)
    })

  it('the issuer selects the provider, and only its keys apply', () => {
    const other = signerOf('ES256', 'es256', 'other')
    const provider = (issuer: string, signer: Signer): Provider => ({
      issuer,
      audiences: [],
      requiredClaims: [],
      leeway: 0,
      keys: fixedKeys(parseKeys(keySetText(signer))),
    })
    const both = providersByIssuer([provider('a', ES256), provider('b', other)])
    assert.equal(verdict(tokenOf(ES256, { iss: 'a' }), both), 'ok')
    assert.equal(verdict(tokenOf(other, { iss: 'b' }), both), 'ok')
    assert.equal(verdict(tokenOf(other, { iss: 'a' }), both), 'bad-signature')
    const twice = providersByIssuer([provider('a', ES256), provider('a', signerOf('EdDSA'))])
    assert.equal(verdict(tokenOf(signerOf('EdDSA'), { iss: 'a' }), twice), 'ok')
    assert.equal(verdict(tokenOf(signerOf('RS256'), { iss: 'a' }), twice), 'unknown-kid')
  })

  it('rejects every token without keys', () => {
    assert.equal(ask({ keys: fixedKeys(undefined) }, {}), 'keys-unavailable')
    assert.equal(ask({ keys: fixedKeys(parseKeys('{"keys":[]}')) }, {}), 'unknown-kid')
  })

  it('logs details: by how much, the actual and the trusted values', () => {
    const detail = (claims: Record<string, unknown>, audiences: readonly string[] = []) => {
      const outcome = verifyToken(tokenOf(ES256, claims), providersOf([ES256], { audiences }), NOW)
      return isRejection(outcome) ? outcome.detail : ''
    }
    assert.equal(detail({ exp: SECONDS - 90 }), '90 s ago')
    assert.equal(detail({ aud: ['a', 'b'] }, ['c']), 'aud is ["a","b"]; trusted: "c"')
    assert.equal(detail({ iss: 'x\ny' }), `iss is "x\\ny"; trusted: "${ISSUER}"`)
    assert.ok(detail({ iss: 'x'.repeat(5000) }).length < 200)
  })
})
