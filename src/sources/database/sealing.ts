import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'

/** Encrypts strings for storage. The first key encrypts; all keys decrypt. */
export interface Sealing {
  /** `context`: the owner of the string; it can be decrypted only in this context. */
  seal(text: string, context: string): string
  /** Undefined if no key fits or the value was tampered with. */
  open(sealed: string, context: string): string | undefined
  /** Whether another key than the first one was used. */
  isOutdated(sealed: string): boolean
}

interface SealingKey {
  readonly id: string
  readonly key: Buffer
}

const VERSION = 'v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** `keys`: 32 bytes each. Uses AES-256-GCM with a separate nonce for each string. */
export function createSealing(keys: readonly Buffer[]): Sealing {
  const own = keys.map(
    (key): SealingKey => ({
      id: createHash('sha256').update('portcullis key id').update(key).digest('hex').slice(0, 12),
      key: Buffer.from(hkdfSync('sha256', key, '', 'portcullis storage', 32)),
    }),
  )
  const [first] = own
  if (first === undefined) throw new Error('sealing requires a key')
  return {
    seal(text, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', first.key, nonce).setAAD(Buffer.from(context))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      const bytes = Buffer.concat([nonce, cipher.getAuthTag(), body])
      return `${VERSION}:${first.id}:${bytes.toString('base64')}`
    },
    open(sealed, context) {
      const [version, id, text = ''] = sealed.split(':')
      const found = own.find((one) => one.id === id)
      const bytes = Buffer.from(text, 'base64')
      if (version !== VERSION || found === undefined) return undefined
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined
      try {
        const nonce = bytes.subarray(0, NONCE_BYTES)
        const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
        const decipher = createDecipheriv('aes-256-gcm', found.key, nonce, {
          authTagLength: TAG_BYTES,
        })
        decipher.setAAD(Buffer.from(context)).setAuthTag(tag)
        const body = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
        return Buffer.concat([body, decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
    isOutdated: (sealed) => sealed.split(':')[1] !== first.id,
  }
}

/** `text`: keys of 64 hexadecimal digits, separated by commas, newest first. */
export function readKeys(text: string): readonly Buffer[] | undefined {
  const keys = text.split(',').map((one) => one.trim())
  if (!keys.every((key) => /^[0-9a-fA-F]{64}$/.test(key) && new Set(key).size > 4)) return undefined
  return keys.map((key) => Buffer.from(key, 'hex'))
}
