import { createHash, hash } from 'node:crypto'

/** The alphabet of crypt(3), which differs from base64. */
const ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Encodes three bytes as four characters, least significant bits first. */
function encode(digest: Buffer, order: readonly (readonly number[])[]): string {
  let text = ''
  for (const positions of order) {
    let bits = 0
    for (const at of positions) bits = bits * 256 + (digest[at] as number)
    for (let left = positions.length + 1; left > 0; left--) {
      text += ALPHABET[bits & 63]
      bits >>>= 6
    }
  }
  return text
}

const SHA256_ORDER = triples(10, (i) => [(i * 21) % 30, (i * 21 + 10) % 30, (i * 21 + 20) % 30])
const SHA512_ORDER = triples(21, (i) => [(i * 22) % 63, (i * 22 + 21) % 63, (i * 22 + 42) % 63])

function triples(
  count: number,
  of: (i: number) => readonly number[],
): readonly (readonly number[])[] {
  return Array.from({ length: count }, (_, i) => of(i))
}

/** SHA-2 crypt(3), `$5$` and `$6$`: computes the last part of such a hash. */
export function shaCrypt(
  algorithm: 'sha256' | 'sha512',
  password: string,
  saltText: string,
  rounds: number,
): string {
  const key = Buffer.from(password, 'utf8')
  const salt = Buffer.from(saltText, 'utf8')
  const digest = (...parts: readonly Uint8Array[]) => {
    const hashing = createHash(algorithm)
    for (const part of parts) hashing.update(part)
    return hashing.digest()
  }
  const b = digest(key, salt, key)
  const parts: Uint8Array[] = [key, salt, stretched(b, key.length)]
  for (let left = key.length; left > 0; left >>>= 1) parts.push((left & 1) === 1 ? b : key)
  const a = digest(...parts)
  const p = stretched(digest(...repeated(key, key.length)), key.length)
  const s = stretched(digest(...repeated(salt, 16 + (a[0] as number))), salt.length)
  let c = a
  for (let round = 0; round < rounds; round++) {
    const isOdd = (round & 1) === 1
    const own: Uint8Array[] = [isOdd ? p : c]
    if (round % 3 !== 0) own.push(s)
    if (round % 7 !== 0) own.push(p)
    own.push(isOdd ? c : p)
    c = digest(...own)
  }
  return algorithm === 'sha256'
    ? encode(c, [...SHA256_ORDER, [31, 30]])
    : encode(c, [...SHA512_ORDER, [63]])
}

/** Repeats the digest to the given number of bytes. */
function stretched(digest: Buffer, length: number): Buffer {
  return Buffer.concat(repeated(digest, Math.ceil(length / digest.length))).subarray(0, length)
}

function repeated(bytes: Buffer, times: number): Buffer[] {
  return Array.from({ length: times }, () => bytes)
}

const APR1_ROUNDS = 1000
const APR1_ORDER = [[0, 6, 12], [1, 7, 13], [2, 8, 14], [3, 9, 15], [4, 10, 5], [11]]

/** Apache's MD5, `$apr1$`: computes the last part of such a hash. */
export function apr1(password: string, saltText: string): string {
  const key = Buffer.from(password, 'utf8')
  const salt = Buffer.from(saltText, 'utf8')
  const md5 = (...parts: readonly Uint8Array[]) => hash('md5', Buffer.concat(parts), 'buffer')
  const alternate = md5(key, salt, key)
  const parts: Uint8Array[] = [key, Buffer.from('$apr1$'), salt, stretched(alternate, key.length)]
  for (let left = key.length; left > 0; left >>>= 1) {
    parts.push((left & 1) === 1 ? ZERO : key.subarray(0, 1))
  }
  let digest = md5(...parts)
  for (let round = 0; round < APR1_ROUNDS; round++) {
    const isOdd = (round & 1) === 1
    const own: Uint8Array[] = [isOdd ? key : digest]
    if (round % 3 !== 0) own.push(salt)
    if (round % 7 !== 0) own.push(key)
    own.push(isOdd ? digest : key)
    digest = md5(...own)
  }
  return encode(digest, APR1_ORDER)
}

const ZERO = Buffer.alloc(1)
