import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSecureContext, type SecureContext } from 'node:tls'
import { type Authority, type KeyPair, makeAuthority } from '../../src/cli/suite/certificate.ts'
import { ISSUERS } from './generate.ts'

/** Client certificates of probes, by name. */
export const CERTIFICATES = {
  alice: { subject: 'alice', names: ['URI:spiffe://td.test/ns/a'] },
  bob: { subject: 'bob', names: ['DNS:bob.test', 'URI:spiffe://td.test/ns/b'] },
  plain: { subject: 'al', names: [] },
  stranger: { subject: 'alice', names: ['URI:spiffe://td.test/ns/a'] },
} as const
export type CertificateName = keyof typeof CERTIFICATES

/** The certificate of an example, with arbitrary names. */
export interface CustomCertificate {
  readonly subject: string
  readonly names: readonly string[]
}

/** Keys and certificates of one run, for files and clients. */
export class Credentials {
  readonly #key = generateKeyPairSync('ed25519')
  readonly #other = generateKeyPairSync('ed25519')
  readonly #authority: Authority = makeAuthority('truth')
  readonly #strangers: Authority = makeAuthority('somebody else')
  readonly #server: KeyPair = this.#authority.issue('server', ['DNS:*.test', 'DNS:a.test'])
  /** For backends that receive TLS unchanged. */
  readonly serverContext: SecureContext = createSecureContext(this.#server)
  readonly #issued = new Map<string, KeyPair>()
  readonly #tokens = new Map<string, string>()

  /** Writes `keys.json`, `server.pem`, `server.key` and `ca.pem`, as files name them. */
  writeFiles(folder: string): void {
    const { x } = this.#key.publicKey.export({ format: 'jwk' })
    const keys = [{ kty: 'OKP', crv: 'Ed25519', use: 'sig', alg: 'EdDSA', kid: 'k', x }]
    writeFileSync(join(folder, 'keys.json'), JSON.stringify({ keys }))
    writeFileSync(join(folder, 'server.pem'), this.#server.cert)
    writeFileSync(join(folder, 'server.key'), this.#server.key)
    writeFileSync(join(folder, 'ca.pem'), this.#authority.cert)
  }

  certificate(wanted: CertificateName | CustomCertificate): KeyPair {
    const key = JSON.stringify(wanted)
    const known = this.#issued.get(key)
    if (known !== undefined) return known
    const { subject, names } = typeof wanted === 'string' ? CERTIFICATES[wanted] : wanted
    const by = wanted === 'stranger' ? this.#strangers : this.#authority
    const issued = by.issue(subject, names)
    this.#issued.set(key, issued)
    return issued
  }

  /** Claims are JSON text, so that numbers stay exactly as written. */
  token(claims: string, kind: 'valid' | 'forged' | 'expired'): string {
    const key = `${kind} ${claims}`
    const known = this.#tokens.get(key)
    if (known !== undefined) return known
    const written = claimsIn(claims)
    const payload =
      kind === 'expired' ? written.replace('"exp":4000000000', '"exp":1000000000') : written
    const made = signed(payload, kind === 'forged' ? this.#other.privateKey : this.#key.privateKey)
    if (this.#tokens.size > 5_000) this.#tokens.clear()
    this.#tokens.set(key, made)
    return made
  }
}

/**
 * Whether the token is not valid yet, or no longer: tools treat given claims as those of a
 * currently valid token.
 */
export function isOutOfTime(claims = '{}'): boolean {
  const { exp, nbf } = JSON.parse(claims) as { readonly exp?: unknown; readonly nbf?: unknown }
  const now = Date.now() / 1000
  return (typeof exp === 'number' && exp <= now) || (typeof nbf === 'number' && nbf > now)
}

/** Claims as the token contains them. */
export function claimsIn(written: string): string {
  const inner = written.trim().slice(1, -1).trim()
  const issuer = /"iss":/.test(written) ? '' : `"iss":"${ISSUERS[0]}"`
  const until = /"exp":/.test(written) ? '' : '"exp":4000000000'
  return `{${[issuer, until, inner].filter((part) => part !== '').join()}}`
}

function signed(payload: string, key: KeyObject): string {
  const head = Buffer.from('{"alg":"EdDSA","kid":"k"}').toString('base64url')
  const text = `${head}.${Buffer.from(payload).toString('base64url')}`
  return `${text}.${sign(null, Buffer.from(text), key).toString('base64url')}`
}
