import {
  createPrivateKey,
  generateKeyPairSync,
  randomUUID,
  sign,
  type webcrypto,
} from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { sentenceOf, whyUnwritable } from '../diagnostics/system-error.ts'
import { defineCommand, UsageError } from './define.ts'
import { FORMAT, formatOf, readArgs } from './read-args.ts'

const DEFAULT_KEY = 'portcullis-test-key.json'
const DEFAULT_ISSUER = 'https://issuer.example'
const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

export const token = defineCommand({
  name: 'token',
  summary: 'create a test token and the key set that verifies it',
  help: `portcullis token [--claims JSON] [--issuer URL] [--audience NAME] [--expires 1h]
                 [--key FILE] [--format text|json]
portcullis token --jwks [--key FILE]

Signs a token (JWT, ES256) with the private key in FILE, which is created if it does not
exist. \`--jwks\` prints the public key set for \`jwtAuthentication\`:

  portcullis token --jwks > keys.json
  curl -H "Authorization: Bearer $(portcullis token --claims '{"sub":"alice"}')" …

For tests only: anyone who has FILE can sign any token.

  --claims JSON      additional claims; they override those set by other options
  --issuer URL       \`iss\` (default ${DEFAULT_ISSUER})
  --audience NAME    \`aud\`; none by default
  --expires TIME     \`exp\`, from now: 30s, 15m, 1h, 7d (default 1h); -1h for an expired token
  --key FILE         the private key (default ${DEFAULT_KEY} in the current directory)
  --jwks             print the key set instead of a token
  --format json      the token and the key set as one object; short form: --json

Exit code: 0, 1 if FILE cannot be used, 2 for a usage error.`,
  run: (args, { out, err }) => {
    const options = parse(args)
    const key = keyOf(options.key ?? DEFAULT_KEY)
    if (typeof key === 'string') {
      err(`portcullis token: ${key}\n`)
      return 1
    }
    const isJson = formatOf(options, ['text', 'json']) === 'json'
    const made = options.jwks === true ? publicSet(key) : signed(key, claimsOf(options))
    const whole = isJson && typeof made === 'string' ? { token: made, jwks: publicSet(key) } : made
    out(`${typeof whole === 'string' ? whole : JSON.stringify(whole, undefined, 2)}\n`)
    return 0
  },
})

type Key = webcrypto.JsonWebKey & { readonly kid: string }

/** Reads the key from a file, or creates the file; returns a message if it is unusable. */
function keyOf(file: string): Key | string {
  try {
    const made = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const key: Key = { ...made.export({ format: 'jwk' }), kid: randomUUID() }
    // Exclusive: never replaces an existing file, and other users cannot read it.
    writeFileSync(file, `${JSON.stringify(key, undefined, 2)}\n`, { mode: 0o600, flag: 'wx' })
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      return `cannot write ${file}: ${whyUnwritable(error)}`
    }
  }
  try {
    const key = JSON.parse(readFileSync(file, 'utf8')) as Partial<Key>
    if (key.kty === 'EC' && key.crv === 'P-256' && key.d !== undefined && key.kid !== undefined) {
      return key as Key
    }
    return `${file} is not a private key created by \`portcullis token\``
  } catch (error) {
    if (error instanceof SyntaxError) return `${file} is not JSON`
    return `cannot read ${file}: ${sentenceOf(error)}`
  }
}

function publicSet({ kty, crv, x, y, kid }: Key): object {
  return { keys: [{ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }] }
}

function signed(key: Key, claims: object): string {
  const encoded = [{ alg: 'ES256', typ: 'JWT', kid: key.kid }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const text = encoded.join('.')
  const signature = sign('sha256', Buffer.from(text), {
    key: createPrivateKey({ key, format: 'jwk' }),
    dsaEncoding: 'ieee-p1363',
  })
  return `${text}.${signature.toString('base64url')}`
}

function claimsOf(options: ReturnType<typeof parse>): object {
  const { issuer = DEFAULT_ISSUER, audience, expires = '1h', claims = '{}' } = options
  const [, number = '', unit = ''] = /^(-?\d+)([smhd])$/.exec(expires) ?? []
  const factor = SECONDS[unit]
  if (factor === undefined) throw new UsageError('--expires must be a duration, for example 15m')
  const now = Math.floor(Date.now() / 1000)
  return {
    iss: issuer,
    ...(audience === undefined ? {} : { aud: audience }),
    iat: now,
    exp: now + Number(number) * factor,
    ...objectOf(claims),
  }
}

function objectOf(text: string): object {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
  } catch {
    // Reported below.
  }
  throw new UsageError(`--claims must be a JSON object, for example '{"sub":"alice"}'`)
}

function parse(args: readonly string[]) {
  return readArgs({
    args: [...args],
    options: {
      claims: { type: 'string' },
      issuer: { type: 'string' },
      audience: { type: 'string' },
      expires: { type: 'string' },
      key: { type: 'string' },
      jwks: { type: 'boolean' },
      ...FORMAT,
    },
  }).values
}
