import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseKeys } from './keys.ts'
import { isRejection } from './rejection.ts'
import { parseToken } from './token.ts'
import { verifySignature } from './verify.ts'

const FOLDER = join(import.meta.dirname, '../../../../shared/data/jose')

/** The Wycheproof vectors and the RFC's own examples, if available. */
const readVectors = (name: string): unknown => JSON.parse(readFileSync(join(FOLDER, name), 'utf8'))

type Jwk = Readonly<Record<string, unknown>>

interface Group {
  readonly comment: string
  readonly public?: Jwk
  readonly private: Jwk
  readonly tests: readonly {
    readonly tcId: number
    readonly comment: string
    readonly jws: unknown
    readonly result: string
  }[]
}

/** Payloads of vectors are not claims: only the form and the signature are checked. */
function verdict(token: unknown, key: Jwk): string {
  const keys = parseKeys(JSON.stringify('keys' in key ? key : { keys: [key] }))
  if (keys === undefined) return 'no keys'
  const jws = parseToken(typeof token === 'string' ? token : JSON.stringify(token))
  if (isRejection(jws)) return jws.fault
  return verifySignature(jws, keys)?.fault ?? 'valid'
}

const HMAC = 'HMAC shares a secret, which a gateway must not have'
const ES521 = 'the key names ES521, which no registry knows; RFC 7518 says ES512'
const PS384 = 'the key is for PS256 alone and the token is PS384'

/**
 * Valid vectors that are rejected here, with the reason. There are none in the other direction:
 * every vector marked invalid is rejected.
 */
const REJECTED_HERE: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  'json_web_signature_test.json': {
    1: HMAC,
    346: PS384,
    347: ES521,
    348: HMAC,
    350: PS384,
    351: ES521,
    352: HMAC,
    357: HMAC,
    358: HMAC,
    359: HMAC,
    372: HMAC,
    373: HMAC,
    376: HMAC,
    377: HMAC,
  },
  'json_web_key_test.json': { 2: HMAC, 13: HMAC, 14: HMAC, 15: HMAC },
}

const skip = existsSync(FOLDER) ? false : `there is no ${FOLDER}`

for (const [file, rejectedHere] of Object.entries(REJECTED_HERE)) {
  describe(`Wycheproof ${file}`, { skip }, () => {
    const { testGroups } = (skip === false ? readVectors(file) : { testGroups: [] }) as {
      readonly testGroups: readonly Group[]
    }
    for (const group of testGroups) {
      it(`${group.comment}, from ${group.tests[0]?.tcId}`, () => {
        for (const { tcId, comment, jws, result } of group.tests) {
          const isTaken = verdict(jws, group.public ?? group.private) === 'valid'
          const isExpected = result === 'valid' && rejectedHere[tcId] === undefined
          const why = `${tcId} ${comment}: ${verdict(jws, group.public ?? group.private)}`
          assert.equal(isTaken, isExpected, why)
        }
      })
    }

    it('every listed difference is a valid vector', () => {
      const valid = testGroups.flatMap(({ tests }) =>
        tests.filter(({ result }) => result === 'valid').map(({ tcId }) => tcId),
      )
      for (const id of Object.keys(rejectedHere)) assert.ok(valid.includes(Number(id)), id)
    })
  })
}

interface Example {
  readonly input: { readonly key: Jwk; readonly alg: string }
  readonly output: { readonly compact?: string }
}

describe('RFC 7520', { skip }, () => {
  for (const [file, said] of [
    ['4_1.rsa_v15_signature.json', 'valid'],
    ['4_2.rsa-pss_signature.json', 'valid'],
    ['4_3.ecdsa_signature.json', 'valid'],
    ['4_4.hmac-sha2_integrity_protection.json', 'unsupported-alg'],
    // The payload is detached, and a token without it is a different token.
    ['4_5.signature_with_detached_content.json', 'unsupported-alg'],
  ] as const) {
    it(`${file}: ${said}`, () => {
      const { input, output } = readVectors(`rfc7520/${file}`) as Example
      const { d: _, p: __, q: ___, dp, dq, qi, ...open } = input.key
      assert.equal(verdict(output.compact, open), said)
      assert.notEqual(verdict(output.compact, input.key), 'valid', 'a private key is refused')
    })
  }
})

describe('RFC 7515 and RFC 8037', () => {
  // The examples lack a kid, which is required here; so their own signatures are verified over the
  // header that they sign, and only the kid is missing.
  const payload =
    'eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ'
  const EXAMPLES: readonly [name: string, token: string, key: Jwk][] = [
    [
      'RFC 7515 A.3, ES256',
      `eyJhbGciOiJFUzI1NiJ9.${payload}.DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q`,
      {
        kty: 'EC',
        crv: 'P-256',
        x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
        y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
      },
    ],
    [
      'RFC 8037 A.4, EdDSA',
      'eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg',
      { kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' },
    ],
  ]
  for (const [name, token, key] of EXAMPLES) {
    it(`${name}: the signature is good, but there is no kid`, () => {
      assert.equal(verdict(token, { ...key, kid: 'k' }), 'missing-kid')
      const keys = parseKeys(JSON.stringify({ keys: [{ ...key, kid: 'k' }] }))
      assert.ok(keys !== undefined && keys.byKid.size === 1)
      const [head = '', body = '', tail = ''] = token.split('.')
      const { alg } = JSON.parse(Buffer.from(head, 'base64url').toString())
      const named = Buffer.from(JSON.stringify({ alg, kid: 'k' })).toString('base64url')
      const jws = parseToken(`${named}.${body}.${tail}`)
      assert.ok(!isRejection(jws))
      assert.equal(verifySignature(jws, keys)?.fault, 'bad-signature')
      const signed = Buffer.from(`${head}.${body}`)
      assert.equal(verifySignature({ ...jws, signed }, keys), undefined)
    })
  }

  it('RFC 7515 A.5, without a signature: unsupported', () => {
    assert.equal(verdict(`eyJhbGciOiJub25lIn0.${payload}.`, { kty: 'EC' }), 'unsupported-alg')
  })
})
