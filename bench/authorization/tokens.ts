import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { HOLDER, ISSUER } from './configurations.ts'

export interface Tokens {
  readonly jwks: string
  readonly one: string
  /** Distinct tokens for the same subject. */
  many(count: number): readonly string[]
}

/** RS256 tokens of about 700 characters each. */
export function makeTokens(): Tokens {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'bench', alg: 'RS256', use: 'sig' }
  const make = (n: number) => tokenOf(privateKey, n)
  return {
    jwks: JSON.stringify({ keys: [jwk] }),
    one: make(0),
    many: (count) => Array.from({ length: count }, (_, n) => make(n + 1)),
  }
}

function tokenOf(key: KeyObject, n: number): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = {
    iss: ISSUER,
    sub: HOLDER,
    aud: 'api',
    iat: now,
    exp: now + 86_400,
    jti: `token-${n}`,
    scope: 'openid profile email',
    groups: ['eng', 'ops'],
  }
  const signed = `${part({ alg: 'RS256', kid: 'bench', typ: 'JWT' })}.${part(claims)}`
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

/** wrk script: each request uses the next token of the file; a slice goes through it once. */
export const COLD_SCRIPT = `local tokens = {}
for line in io.lines(os.getenv('BENCH_TOKENS')) do tokens[#tokens + 1] = 'Bearer ' .. line end
local at = 0
request = function()
  at = at + 1
  if at > #tokens then at = 1 end
  wrk.headers['authorization'] = tokens[at]
  return wrk.format('GET', '/')
end
`
