import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, it } from 'node:test'
import { ALL_ALGORITHMS, keySetText, privateKey, publicJwk, signerOf } from './fixtures/tokens.ts'
import { parseKeys } from './keys.ts'

const RSA = publicJwk(signerOf('RS256', 'r'))
const EC = publicJwk(signerOf('ES256', 'e'))
const ED = publicJwk(signerOf('EdDSA', 'o'))
const { use: _, alg: __, ...bareRsa } = RSA

/** `kid: algorithms`, or the problem. */
function said(...keys: readonly unknown[]): readonly string[] {
  const set = parseKeys(JSON.stringify({ keys }))
  assert.ok(set !== undefined)
  const usable = [...set.byKid].flatMap(([kid, found]) =>
    found.map(({ algorithms }) => `${kid}: ${algorithms.map(({ name }) => name).join(' ')}`),
  )
  return [...usable, ...set.faults.map(({ problem }) => problem)]
}

const smaller = (bits: number) => publicJwk({ ...signerOf('RS256'), key: privateKey(`RSA${bits}`) })

describe('a key', () => {
  const KEYS: readonly [what: string, jwk: unknown, said: string | RegExp][] = [
    ['RSA', RSA, 'r: RS256'],
    ['RSA that names no algorithm', bareRsa, 'r: RS256 RS384 RS512 PS256 PS384 PS512'],
    ['EC', EC, 'e: ES256'],
    ['EC that names no algorithm', { ...EC, alg: undefined }, 'e: ES256'],
    ['Ed25519', ED, 'o: EdDSA'],
    ['to verify', { ...EC, use: undefined, key_ops: ['verify'] }, 'e: ES256'],
    ['with members that nobody knows', { ...EC, x5c: ['AAAA'], x5t: 'A', nbf: 1 }, 'e: ES256'],
    ['no object', 'key', /not a JSON object/],
    ['null', null, /not a JSON object/],
    ['without kid', { ...EC, kid: undefined }, /kid is missing/],
    ['with a number as kid', { ...EC, kid: 7 }, /kid is missing/],
    ['to encrypt', { ...EC, use: 'enc' }, /use is enc/],
    ['with a use in capitals', { ...EC, use: 'SIG' }, /use is SIG/],
    ['to sign only', { ...EC, key_ops: ['sign'] }, /not include verify/],
    ['with operations that are no list', { ...EC, key_ops: 'verify' }, /not a list/],
    ['of another algorithm', { ...RSA, alg: 'ES256' }, /alg ES256/],
    ['of an algorithm for another curve', { ...EC, alg: 'ES384' }, /alg ES384/],
    ['to share a secret by', { ...RSA, alg: 'RSA-OAEP' }, /alg RSA-OAEP/],
    ['of HMAC', { ...RSA, alg: 'HS256' }, /alg HS256/],
    ['of no algorithm', { ...RSA, alg: 'none' }, /alg none/],
    ['that is a secret', { kty: 'oct', kid: 's', k: 'AAAA', alg: 'HS256' }, /symmetric keys/],
    ['that is private', { ...privateKey('P-256').export({ format: 'jwk' }), kid: 'p' }, /private/],
    [
      'of RSA that is private',
      { ...privateKey('RSA2048').export({ format: 'jwk' }), kid: 'p' },
      /private/,
    ],
    ['of an unknown type', { ...EC, kty: 'AKP' }, /unsupported kty or crv/],
    ['of a type of the prototype', { ...EC, kty: '__proto__' }, /unsupported kty or crv/],
    [
      'on the curve of Bitcoin',
      { ...EC, crv: 'secp256k1', alg: undefined },
      /unsupported kty or crv/,
    ],
    ['on a curve that only agrees on secrets', { ...ED, crv: 'X25519' }, /unsupported kty or crv/],
    ['on another curve', { ...EC, crv: 'P-384', alg: undefined }, /48 bytes/],
    ['beside its curve', { ...EC, y: EC['x'] }, /not on the curve/],
    ['without y', { ...EC, y: undefined }, /32 bytes/],
    ['with padding', { ...EC, x: `${EC['x']}=` }, /32 bytes/],
    ['with a zero in front', { ...EC, x: `AAAA${EC['x']}` }, /32 bytes/],
    ['of RSA without n', { ...RSA, n: undefined }, /not base64url/],
    ['of RSA with an empty n', { ...RSA, n: '' }, /not base64url/],
    ['of RSA with a number as e', { ...RSA, e: 65537 }, /not base64url/],
    ['of RSA with the exponent 1', { ...RSA, e: 'AQ' }, /exponent 1$|not form an RSA key/],
    ['of RSA with an even exponent', { ...RSA, e: 'AQAC' }, /exponent 65538|not form an RSA key/],
    ['of RSA with a huge exponent', { ...RSA, e: 'AQAAAAAB' }, /unsupported exponent/],
    ['of RSA with 1024 bits', smaller(1024), /1024 bits are fewer/],
    ['of RSA with 2040 bits', smaller(2040), /2040 bits are fewer/],
  ]
  for (const [what, jwk, expected] of KEYS) {
    it(`${what}: ${expected}`, () => {
      const [response = '', ...more] = said(jwk)
      assert.deepEqual(more, [])
      if (typeof expected === 'string') assert.equal(response, expected)
      else assert.match(response, expected)
    })
  }

  it('of RSA with too many bits is rejected as too expensive', () => {
    const n = Buffer.alloc(16_384 / 8, 0xff).toString('base64url')
    assert.match(said({ ...RSA, n }).join(), /16384 bits are more/)
  })

  it('that a strong library generated is never mistaken for a weak one', () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 3072 })
    assert.deepEqual(said({ ...publicKey.export({ format: 'jwk' }), kid: 'x', alg: 'PS384' }), [
      'x: PS384',
    ])
  })
})

describe('a set of keys', () => {
  it('uses the valid ones and reports the others', () => {
    const set = parseKeys(JSON.stringify({ keys: [{ kty: 'oct', kid: 'a', k: 'A' }, EC, 7] }))
    assert.deepEqual([...(set?.byKid.keys() ?? [])], ['e'])
    assert.deepEqual(set?.faults, [
      { index: 0, kid: 'a', problem: 'symmetric keys are not supported' },
      { index: 2, kid: '', problem: 'not a JSON object' },
    ])
  })

  it('accepts one of each algorithm', () => {
    const set = parseKeys(keySetText(...ALL_ALGORITHMS.map((alg) => signerOf(alg))))
    assert.deepEqual(set?.faults, [])
    assert.equal(set?.byKid.size, ALL_ALGORITHMS.length)
  })

  it('accepts two keys with the same kid if their algorithms differ', () => {
    assert.deepEqual(said({ ...EC, kid: 'x' }, { ...RSA, kid: 'x' }), ['x: ES256', 'x: RS256'])
  })

  it('treats a repeated key as one', () => {
    assert.deepEqual(said(EC, { ...EC, x5c: ['AAAA'] }), ['e: ES256'])
  })

  it('rejects both of two ambiguous keys', () => {
    const other = publicJwk(signerOf('ES256', 'e', 'other'))
    const problem = 'another key has the same kid and an overlapping algorithm'
    assert.deepEqual(said(EC, other, RSA), ['r: RS256', problem, problem])
  })

  it('supports kids that are names of Object properties', () => {
    assert.deepEqual(said({ ...EC, kid: '__proto__' }), ['__proto__: ES256'])
  })

  for (const text of [
    '',
    'null',
    '[]',
    '{}',
    '{"keys":{}}',
    '{"keys":null}',
    '{"__proto__":{"keys":[]}}',
    '{"keys":[],"keys":[]}',
    '{"keys":[{"kty":"EC","kty":"RSA"}]}',
    '<html>',
    `{"keys":[${Array.from({ length: 257 }, () => '1')}]}`,
  ]) {
    it(`${text.slice(0, 40)} is none`, () => assert.equal(parseKeys(text), undefined))
  }
})
