import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import type { Exchange } from '../../exchange/exchange.ts'
import { canonicalJson } from '../../model/json.ts'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Texts that clients carry and cannot read or change: ids of sessions, states of requests. */
export class Seal {
  readonly #key: Uint8Array

  /** 32 bytes, the same in every process that is to open what another one sealed. */
  constructor(key: Uint8Array) {
    if (key.length !== 32) throw new Error('a key of 32 bytes is needed')
    this.#key = key
  }

  /** `purpose`: what is sealed for one thing opens for no other. */
  seal(purpose: string, value: unknown): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce)
    cipher.setAAD(Buffer.from(purpose))
    const sealed = [cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]
    return Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]).toString('base64url')
  }

  /** Undefined for anything that was not sealed with this key for this purpose. */
  open(purpose: string, sealed: string): unknown {
    const bytes = Buffer.from(sealed, 'base64url')
    if (bytes.length <= NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== sealed) {
      return undefined
    }
    const decipher = createDecipheriv(CIPHER, this.#key, bytes.subarray(0, NONCE_BYTES))
    decipher.setAAD(Buffer.from(purpose))
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    try {
      const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8')
      return JSON.parse(text + decipher.final('utf8'))
    } catch {
      return undefined
    }
  }
}

/**
 * Who sends the request, in a form that does not tell it: the same for the same user whichever
 * token it has at the moment. Empty: nobody found out.
 */
export function callerOf(exchange: Exchange): string {
  const known: unknown[] = []
  for (let own = exchange.identity; own !== undefined; own = own.earlier) {
    const { variable, value } = own
    if (variable === 'jwt') known.push([variable, value.iss, value.sub ?? withoutTimes(value)])
    else if (variable !== 'extauthz') known.push([variable, value])
  }
  const { identity, fingerprint } = exchange.source
  if (identity !== undefined) known.push(['spiffe', identity])
  else if (fingerprint !== undefined) known.push(['certificate', fingerprint])
  if (known.length === 0) return ''
  const text = known.map((one) => canonicalJson(one)).sort()
  return createHash('sha256').update(text.join('\n')).digest('base64url').slice(0, 22)
}

function withoutTimes(claims: object): object {
  const { exp: _, iat: __, nbf: ___, jti: ____, ...rest } = claims as Record<string, unknown>
  return rest
}
