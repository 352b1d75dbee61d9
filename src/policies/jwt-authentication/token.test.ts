import assert from 'node:assert/strict'
import { createHmac, createPublicKey } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/runs.ts'
import {
  encode,
  GOOD_CLAIMS,
  NOW,
  providersOf,
  publicJwk,
  signature,
  signerOf,
  type Text,
  tokenOf,
} from './fixtures/tokens.ts'
import { isRejection, TOKEN_FAULTS } from './rejection.ts'
import { MAX_TOKEN, parseToken } from './token.ts'
import { verifyToken } from './verify.ts'

const RS256 = signerOf('RS256')
const ES256 = signerOf('ES256')
const STRANGER = signerOf('ES256', 'stranger', 'stranger')
const ALL = providersOf([RS256, ES256])

function verdict(token: string): string {
  const outcome = verifyToken(token, ALL, NOW)
  return isRejection(outcome) ? outcome.fault : 'ok'
}

const GOOD = tokenOf(ES256)
const [HEAD = '', BODY = '', TAIL = ''] = GOOD.split('.')

describe('the algorithm is determined by the key', () => {
  for (const alg of [
    ...['none', 'None', 'NONE', 'nOnE', 'none ', ' none', 'none\0', 'nonе', ''],
    ...['rs256', 'RS256 ', 'Rs256', 'ES256K', 'RS1', 'ES224', 'HS256', 'HS384', 'HS512', 'hs256'],
    ...['dir', 'A256KW', 'RSA-OAEP', 'ML-DSA-44', 'constructor', '__proto__', 'toString'],
    ...[null, 0, true, ['RS256'], { name: 'RS256' }],
  ]) {
    it(`alg ${JSON.stringify(alg)} is unsupported, signed or not`, () => {
      const token = tokenOf(ES256, {}, { alg })
      assert.equal(verdict(token), 'unsupported-alg')
      assert.equal(verdict(token.slice(0, token.lastIndexOf('.') + 1)), 'unsupported-alg')
    })
  }

  it('a token without alg is unsupported', () => {
    assert.equal(verdict(tokenOf(ES256, {}, '{"kid":"es256"}')), 'unsupported-alg')
  })

  const publicKey = createPublicKey(RS256.key)
  const spki = { type: 'spki' } as const
  for (const [form, secret] of [
    ['PEM', publicKey.export({ ...spki, format: 'pem' })],
    ['PEM of PKCS #1', publicKey.export({ type: 'pkcs1', format: 'pem' })],
    ['PEM without its last line end', String(publicKey.export({ ...spki, format: 'pem' })).trim()],
    ['DER', publicKey.export({ ...spki, format: 'der' })],
    ['JWK', JSON.stringify(publicJwk(RS256))],
    ['modulus', Buffer.from(String(publicJwk(RS256)['n']), 'base64url')],
  ] as const) {
    for (const alg of ['HS256', 'RS256']) {
      it(`an HMAC made with the public key as ${form} is no signature, as ${alg}`, () => {
        const signed = `${encode({ alg, kid: 'rs256' })}.${encode(GOOD_CLAIMS)}`
        const mac = createHmac('sha256', secret).update(signed).digest()
        const said = alg === 'HS256' ? 'unsupported-alg' : 'bad-signature'
        assert.equal(verdict(`${signed}.${encode(mac)}`), said)
      })
    }
  }

  for (const [alg, kid, said] of [
    ['PS256', 'rs256', 'alg-mismatch'],
    ['RS384', 'rs256', 'alg-mismatch'],
    ['ES256', 'rs256', 'alg-mismatch'],
    ['ES384', 'es256', 'alg-mismatch'],
    ['RS256', 'es256', 'alg-mismatch'],
    ['EdDSA', 'es256', 'alg-mismatch'],
  ] as const) {
    it(`${alg} with the kid of another kind of key, ${kid}: ${said}`, () => {
      assert.equal(verdict(tokenOf(signerOf(alg, kid))), said)
    })
  }
})

describe('the kid is an opaque name', () => {
  for (const kid of [
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', 'size', 'get'],
    ...['../../../../dev/null', '/dev/null', 'file:///dev/null', 'C:\\keys', 'es256\0', '%2e%2e'],
    ...["' OR '1'='1", "x' UNION SELECT 'key'--", '$(id)', '`id`', '{{7*7}}', '*', '.*', 'es25?'],
    ...['ES256', 'es256 ', ' es256', 'http://127.0.0.1/key', 'a'.repeat(5000), '\n', 'ｅs256'],
  ]) {
    it(`${JSON.stringify(kid).slice(0, 40)} is unknown`, () => {
      assert.equal(verdict(tokenOf(ES256, {}, { kid })), 'unknown-kid')
      assert.equal(verdict(tokenOf(STRANGER, {}, { kid })), 'unknown-kid')
    })
  }

  for (const [header, said] of [
    ['{"alg":"ES256"}', 'missing-kid'],
    ['{"alg":"ES256","kid":""}', 'missing-kid'],
    ['{"alg":"ES256","KID":"es256"}', 'missing-kid'],
    ['{"alg":"ES256","__proto__":{"kid":"es256"}}', 'missing-kid'],
    ['{"alg":"ES256","kid":null}', 'malformed'],
    ['{"alg":"ES256","kid":1}', 'malformed'],
    ['{"alg":"ES256","kid":["es256"]}', 'malformed'],
    ['{"alg":"ES256","kid":{"toString":"es256"}}', 'malformed'],
  ] as const) {
    it(`${header}: ${said}`, () => assert.equal(verdict(tokenOf(ES256, {}, header)), said))
  }
})

describe('keys in the token are ignored', () => {
  it('and URLs in the token are not fetched', async () => {
    let asked = 0
    const server = createServer((_, response) => {
      asked++
      response.end(JSON.stringify({ keys: [publicJwk(STRANGER)] }))
    })
    server.on('connection', () => asked++)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
    const jwk = publicJwk(STRANGER)
    const x5c = [
      createPublicKey(STRANGER.key).export({ type: 'spki', format: 'der' }).toString('base64'),
    ]
    for (const [header, said] of [
      [{ jwk }, 'unknown-kid'],
      [{ jku: url }, 'unknown-kid'],
      [{ x5u: url }, 'unknown-kid'],
      [{ x5c }, 'unknown-kid'],
      [{ jwk: { ...jwk, kid: 'es256' }, kid: 'es256' }, 'bad-signature'],
      [{ jku: url, kid: 'es256' }, 'bad-signature'],
      [{ x5u: url, kid: 'es256' }, 'bad-signature'],
      [{ x5c, kid: 'es256', x5t: 'AAAA' }, 'bad-signature'],
      [{ jku: url, kid: url }, 'unknown-kid'],
      [{ jwk, jku: url, x5u: url, x5c, kid: undefined }, 'missing-kid'],
    ] as const) {
      assert.equal(verdict(tokenOf(STRANGER, {}, header)), said, JSON.stringify(header))
    }
    assert.equal(verdict(tokenOf(ES256, {}, { jwk, jku: url, x5u: url, x5c })), 'ok')
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.equal(asked, 0)
    await new Promise((resolve) => server.close(resolve))
  })
})

describe('the token header', () => {
  const base = { alg: 'ES256', kid: 'es256' }
  const HEADERS: readonly [header: Text, said: string][] = [
    [base, 'ok'],
    [{ ...base, typ: 'JWT' }, 'ok'],
    [{ ...base, typ: 'at+jwt', x: { y: [1] } }, 'ok'],
    [{ ...base, typ: 'application/AT+JWT' }, 'ok'],
    [{ ...base, typ: 'JOSE' }, 'ok'],
    ...['secevent+jwt', 'logout+jwt', 'dpop+jwt', 'JWT ', ''].map(
      (typ): [header: Text, said: string] => [{ ...base, typ }, 'unsupported-type'],
    ),
    [{ ...base, cty: 'JWT' }, 'unsupported-header'],
    [{ ...base, cty: null }, 'unsupported-header'],
    [{ ...base, zip: 'DEF' }, 'unsupported-header'],
    [' { "kid" : "es256" ,\n "alg" : "ES256" } ', 'ok'],
    ['{"\\u0061lg":"ES256","kid":"es256"}', 'ok'],
    [{ ...base, typ: 7 }, 'malformed'],
    [{ ...base, crit: [] }, 'unsupported-critical'],
    [{ ...base, crit: ['exp'], exp: 1 }, 'unsupported-critical'],
    [{ ...base, crit: ['b64'], b64: true }, 'unsupported-critical'],
    [{ ...base, crit: null }, 'unsupported-critical'],
    [{ ...base, crit: ['b64'], b64: false }, 'unsupported-critical'],
    [{ ...base, b64: false }, 'unsupported-critical'],
    [{ ...base, b64: 'false' }, 'unsupported-critical'],
    [{ ...base, b64: true }, 'ok'],
    ['{"alg":"none","alg":"ES256","kid":"es256"}', 'malformed'],
    ['{"alg":"ES256","kid":"es256","kid":"x"}', 'malformed'],
    ['{"alg":"ES256","kid":"es256","\\u0061lg":"none"}', 'malformed'],
    ['[]', 'malformed'],
    ['"ES256"', 'malformed'],
    ['null', 'malformed'],
    ['{', 'malformed'],
    ['', 'malformed'],
    ["{'alg':'ES256','kid':'es256'}", 'malformed'],
    ['{"alg":"ES256","kid":"es256",}', 'malformed'],
    ['\ufeff{"alg":"ES256","kid":"es256"}', 'malformed'],
  ]
  for (const [header, said] of HEADERS) {
    const name = typeof header === 'string' ? header : JSON.stringify(header)
    it(`${name}: ${said}`, () => {
      const text = typeof header === 'string' ? header : JSON.stringify(header)
      assert.equal(verdict(tokenOf(ES256, {}, text)), said)
    })
  }
})

describe('the compact form', () => {
  const unsigned = `${HEAD}.${BODY}`
  for (const [what, token, said] of [
    ['nothing', '', 'malformed'],
    ['two parts', unsigned, 'malformed'],
    ['no signature', `${unsigned}.`, 'malformed'],
    ['no payload', `${HEAD}..${TAIL}`, 'malformed'],
    ['no header', `.${BODY}.${TAIL}`, 'malformed'],
    ['dots alone', '..', 'malformed'],
    ['a fourth part, empty', `${GOOD}.`, 'malformed'],
    ['a fourth part', `${GOOD}.${TAIL}`, 'malformed'],
    ['five parts, as encrypted ones have', `${GOOD}.a.b`, 'malformed'],
    [
      'the JSON form',
      JSON.stringify({ payload: BODY, protected: HEAD, signature: TAIL }),
      'malformed',
    ],
    ['padding behind the signature', `${GOOD}==`, 'malformed'],
    ['padding behind the header', `${HEAD}=.${BODY}.${TAIL}`, 'malformed'],
    ['a space before', ` ${GOOD}`, 'malformed'],
    ['a space behind', `${GOOD} `, 'malformed'],
    ['a line end within', `${HEAD}.${BODY.slice(0, 9)}\n${BODY.slice(9)}.${TAIL}`, 'malformed'],
    ['a NUL behind', `${GOOD}\0`, 'malformed'],
    ['letters that are none of base64', `${unsigned}.${TAIL.slice(0, -1)}!`, 'malformed'],
    ['letters beyond ASCII', `${unsigned}.${TAIL.slice(0, -1)}ａ`, 'malformed'],
    ['a letter too few', GOOD.slice(0, -1), 'malformed'],
    ['a signature cut by bytes', `${unsigned}.${TAIL.slice(0, -6)}`, 'bad-signature'],
    ['a quarter of it', GOOD.slice(0, GOOD.length / 4), 'malformed'],
  ] as const) {
    it(`${what}: ${said}`, () => {
      assert.equal(verdict(token), said)
    })
  }

  it('each signature has one encoding: unused bits must be zero', () => {
    const last = TAIL.at(-1) as string
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    // 64 bytes leave four unused bits in the last letter.
    const twin = letters[letters.indexOf(last) + 1] as string
    assert.deepEqual(
      Buffer.from(`${TAIL.slice(0, -1)}${twin}`, 'base64url'),
      Buffer.from(TAIL, 'base64url'),
    )
    assert.equal(verdict(`${unsigned}.${TAIL.slice(0, -1)}${twin}`), 'malformed')
  })

  it('rejects + and / of the standard base64 alphabet', () => {
    const signed = `${encode({ alg: 'ES256', kid: 'es256' })}.${Buffer.from('{"a":"~~~???>>>"}').toString('base64')}`
    assert.match(signed, /[+/]/)
    assert.equal(verdict(`${signed}.${encode(signature(signed, ES256))}`), 'malformed')
  })

  it(`has at most ${MAX_TOKEN} characters`, () => {
    const padded = (length: number) => tokenOf(ES256, { pad: 'x'.repeat(length) })
    let length = 11_000
    while (padded(length + 1).length <= MAX_TOKEN) length++
    assert.equal(verdict(padded(length)), 'ok')
    assert.equal(verdict(padded(length + 4)), 'too-large')
    assert.equal(verdict('x'.repeat(10_000_000)), 'too-large')
    const said = parseToken(GOOD, GOOD.length - 1)
    assert.ok(isRejection(said) && said.fault === 'too-large')
  })
})

describe('arbitrary input', () => {
  it('yields a listed outcome, and only the original token is valid', () => {
    const at = fc.nat(GOOD.length - 1)
    const near = fc
      .tuple(at, fc.nat(4), fc.string({ maxLength: 3 }))
      .map(([from, cut, put]) => GOOD.slice(0, from) + put + GOOD.slice(from + cut))
    const property = fc.property(fc.oneof(near, fc.string(), fc.base64String()), (token) => {
      const said = verdict(token)
      if (said === 'ok') assert.equal(token, GOOD)
      else assert.ok((TOKEN_FAULTS as readonly string[]).includes(said))
    })
    fc.assert(property, { ...fuzz(0.5) })
  })
})
