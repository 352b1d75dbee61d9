import { sha256 } from '../../../src/cel/library/hash-sha256.ts'

/** As `portcullis hash-key --generate`: shorter keys can be guessed. */
const KEY_BYTES = 32

/** A random key, in base64url. */
export function generateKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replace(/=+$/, '')
}

/** The hash of a key, as `portcullis hash-key` prints it. Pages without TLS have no WebCrypto. */
export function hashKey(key: string): string {
  const digest = sha256(new TextEncoder().encode(key))
  return `sha256:${[...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
