import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { Case } from './format.ts'

type Claims = Readonly<Record<string, unknown>>

/** Signs tokens with a key of the test run, which replaces the keys of all issuers. */
export class TokenMaker {
  readonly #key = generateKeyPairSync('ed25519')
  /** A key that is not trusted. */
  readonly #other = generateKeyPairSync('ed25519')

  /** The key set for the providers of the configuration under test. */
  get keySet(): string {
    const { x } = this.#key.publicKey.export({ format: 'jwk' })
    return JSON.stringify({ keys: [{ kty: 'OKP', crv: 'Ed25519', use: 'sig', kid: KEY_ID, x }] })
  }

  make(claims: Claims, kind: Case['token']): string {
    const now = Math.floor(Date.now() / 1000)
    const usual = { iat: now - 10, exp: now + 3_600, ...claims }
    switch (kind) {
      case 'valid':
        return signed(HEADER, usual, this.#key.privateKey)
      case 'expired':
        return signed(HEADER, { ...usual, exp: now - 60 }, this.#key.privateKey)
      case 'early':
        return signed(HEADER, { ...usual, nbf: now + 600 }, this.#key.privateKey)
      case 'unknown-key':
        return signed({ ...HEADER, kid: 'another' }, usual, this.#other.privateKey)
      case 'forged':
        return signed(HEADER, usual, this.#other.privateKey)
      case 'unsigned':
        return `${part({ alg: 'none', kid: KEY_ID })}.${part(usual)}.`
      case 'no-key-id':
        return signed({ alg: 'EdDSA' }, usual, this.#key.privateKey)
      case 'no-expiry': {
        const { exp: _, ...rest } = usual
        return signed(HEADER, rest, this.#key.privateKey)
      }
    }
  }
}

const KEY_ID = 'portcullis-test'
const HEADER = { alg: 'EdDSA', kid: KEY_ID }

function signed(header: Claims, claims: Claims, key: KeyObject): string {
  const text = `${part(header)}.${part(claims)}`
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
}

function part(value: Claims): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}
