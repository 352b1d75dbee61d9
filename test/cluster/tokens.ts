import { generateKeyPairSync, sign } from 'node:crypto'

const ISSUER = 'https://issuer.example.com'

type Claims = Readonly<Record<string, unknown>>

interface Maker {
  readonly provider: { readonly issuer: string; readonly jwks: { readonly inline: string } }
  readonly tokenOf: (claims: Claims, header?: Claims) => string
}

const MAKERS = new Map<string, Maker>()

/** An issuer that signs tokens under the real issuer's name with its own keys. */
export function providerOf(kid: string): Maker {
  const known = MAKERS.get(kid)
  if (known !== undefined) return known
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const key = { ...publicKey.export({ format: 'jwk' }), use: 'sig', kid, alg: 'RS256' }
  const made = {
    provider: { issuer: ISSUER, jwks: { inline: JSON.stringify({ keys: [key] }) } },
    tokenOf: (claims: Claims, header: Claims = {}) => {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
      const exp = Math.floor(Date.now() / 1000) + 3600
      const head = part({ alg: 'RS256', kid, ...header })
      const text = `${head}.${part({ iss: ISSUER, exp, ...claims })}`
      return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`
    },
  }
  MAKERS.set(kid, made)
  return made
}

/** The provider that verifies the tokens of `tokenOf`, as configured. */
export const PROVIDER = providerOf('test').provider
export const tokenOf = providerOf('test').tokenOf
