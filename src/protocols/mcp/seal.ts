import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

const CIPHER = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals data that clients carry but cannot read or change: session IDs, request states. */
export class Seal {
  readonly #key: Uint8Array

  /** The key has 32 bytes and must be the same in every process that opens data of another one. */
  constructor(key: Uint8Array) {
    if (key.length !== 32) throw new Error('a key of 32 bytes is needed')
    this.#key = key
  }

  /** Data that is sealed for one `purpose` cannot be opened for another. */
  seal(purpose: string, value: unknown): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.#key, nonce)
    cipher.setAAD(Buffer.from(purpose))
    const sealed = [cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]
    return Buffer.concat([nonce, ...sealed, cipher.getAuthTag()]).toString('base64url')
  }

  /** Returns undefined for anything that was not sealed with this key for this purpose. */
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
