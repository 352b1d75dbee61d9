import { randomUUID } from 'node:crypto'
import { secretText } from '../../model/secret.ts'
import { jwsSigner } from '../jws-signer.ts'
import type { SignedToken } from './schema.ts'

/** Tokens may be verified by a server whose clock is behind. */
const CLOCK_MARGIN_SECONDS = 30

/** Signs a token for each request; undefined: the key is not valid for the algorithm. */
export function tokenSigner(
  { signingKey, alg, kid, claims, ttl }: SignedToken,
  date: () => number,
): (() => string) | undefined {
  const signer = jwsSigner(secretText(signingKey) ?? '', alg)
  if (signer === undefined) return undefined
  const head = encoded({ alg, typ: 'JWT', ...(kid === undefined ? {} : { kid }) })
  return () => {
    const now = Math.floor(date() / 1000)
    const times = { iat: now, nbf: now - CLOCK_MARGIN_SECONDS, exp: now + Math.ceil(ttl / 1000) }
    const text = `${head}.${encoded({ ...claims, ...times, jti: randomUUID() })}`
    return `${text}.${signer.sign(text)}`
  }
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
