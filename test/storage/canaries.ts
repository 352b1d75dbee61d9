import { randomBytes } from 'node:crypto'
import { certify } from '../../src/upstream/fixtures/certificates.ts'

const hex = () => randomBytes(32).toString('hex')
const word = (kind: string) => `canary-${kind}-${randomBytes(9).toString('hex')}`

export const LISTENER = certify({ name: 'canary.test', names: ['DNS:canary.test'] })
export const BACKEND = certify({ name: 'backend.test' })

/** The part of a private key that no other string has. */
function bodyOf(pem: string): string {
  return (pem.split('\n')[1] as string).slice(20, 56)
}

/** Secrets of every kind that a gateway has; each occurs nowhere else. */
export const CANARIES = {
  'PostgreSQL password': word('postgres'),
  'cookie secret': hex(),
  'session key': hex(),
  'storage key': hex(),
  'TLS key of a listener': bodyOf(LISTENER.key),
  'TLS key towards a backend': bodyOf(BACKEND.key),
  'provider key in the file': word('provider'),
  'provider key in the environment': word('variable'),
  'provider key that is stored': word('stored'),
  'bearer token of the admin API': word('admin-token'),
  'bearer token of a client': word('client-token'),
  'bearer token that is sent on': word('sent-token'),
  'API key of a client': word('api-key'),
  'client secret of OIDC': word('client-secret'),
  'password of a user': word('password'),
} as const

export type Kind = keyof typeof CANARIES

/** The secret as it is, and in common encodings. */
function formsOf(secret: string): readonly string[] {
  const bytes = Buffer.from(secret)
  const inside = (offset: number) =>
    // The part of the Base64 that does not depend on the bytes before and after it.
    Buffer.concat([Buffer.alloc(offset), bytes])
      .toString('base64')
      .slice(4, -4)
  return [
    secret,
    secret.toUpperCase(),
    bytes.toString('hex'),
    [...secret].reverse().join(''),
    ...[0, 1, 2].map(inside),
    ...[0, 1, 2].map((offset) => inside(offset).replaceAll('+', '-').replaceAll('/', '_')),
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
  ]
}

/** The secrets that a text contains, in any encoding. */
export function hitsIn(text: string): readonly Kind[] {
  const kinds = Object.entries(CANARIES) as readonly (readonly [Kind, string])[]
  return kinds
    .filter(([, secret]) => formsOf(secret).some((form) => text.includes(form)))
    .map(([kind]) => kind)
}
