import { generateKeyPairSync, sign } from 'node:crypto'

const ISSUER = 'https://issuer.example.com'
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** The provider whose tokens `tokenOf` makes, as a configuration names it. */
export const PROVIDER = {
  issuer: ISSUER,
  jwks: {
    inline: JSON.stringify({
      keys: [{ ...publicKey.export({ format: 'jwk' }), use: 'sig', kid: 'test', alg: 'RS256' }],
    }),
  },
}

export function tokenOf(claims: Readonly<Record<string, unknown>>): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 3600
  const text = `${part({ alg: 'RS256', kid: 'test' })}.${part({ iss: ISSUER, exp, ...claims })}`
  return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`
}
