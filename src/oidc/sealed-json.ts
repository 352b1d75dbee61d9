import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Values that a browser keeps for the gateway and can neither read nor change. */
export interface SealedJson {
  /** The value opens only for the same `purpose`. */
  seal(value: object, purpose: string): string
  /** Undefined if no key fits, or if the value was changed. */
  open(sealed: string, purpose: string): unknown
}

/** Whether the string is 64 hexadecimal digits that look generated, not typed. */
export function isCookieSecret(text: string): boolean {
  return /^[0-9a-fA-F]{64}$/.test(text) && new Set(text.toLowerCase()).size > 6
}

/** `secret`: 64 hexadecimal digits, the same on all replicas. */
export function sealedJson(secret: string, context: string): SealedJson {
  const key = Buffer.from(
    hkdfSync('sha256', Buffer.from(secret, 'hex'), '', `portcullis cookies ${context}`, 32),
  )
  return {
    seal(value, purpose) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose))
      const body = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString('base64url')
    },
    open(sealed, purpose) {
      const bytes = Buffer.from(sealed, 'base64url')
      if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined
      // Each value has one encoding. Characters that the decoder skips would allow more.
      if (bytes.toString('base64url') !== sealed) return undefined
      try {
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        })
        const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
        decipher.setAAD(Buffer.from(purpose)).setAuthTag(tag)
        const body = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
        return JSON.parse(Buffer.concat([body, decipher.final()]).toString('utf8'))
      } catch {
        return undefined
      }
    },
  }
}
