import { isUtf8 } from 'node:buffer'
import { readJson } from '../../cel/values/json-read.ts'
import { isPlainObject } from '../../cel/values/kind.ts'
import type { JsonObject } from '../../cel/values/value.ts'
import { ALGORITHMS, type Algorithm } from './algorithms.ts'
import { decodeBase64url } from './base64url.ts'
import { quote, type Rejection, reject } from './rejection.ts'
import { mediaType } from './schema.ts'

/** In characters; longer tokens are not parsed. */
export const MAX_TOKEN = 16_384

/** A signed token as sent: nothing in it is trusted yet. */
export interface CompactJws {
  readonly algorithm: Algorithm
  readonly kid: string
  /** Its media type as written, without `application/`, in lower case; undefined if it has none. */
  readonly type: string | undefined
  /** The first header that says that the payload is not the claims themselves. */
  readonly wrapped: 'cty' | 'zip' | undefined
  readonly payload: Buffer
  /** The bytes that the signature covers. */
  readonly signed: Buffer
  readonly signature: Buffer
}

/**
 * RFC 7515 §7.1, compact serialization only. `jwk`, `jku`, `x5u` and `x5c` in the header are
 * ignored: a token does not choose the key that verifies it, only which of the configured ones.
 */
export function parseToken(text: string, largest = MAX_TOKEN): CompactJws | Rejection {
  if (text.length > largest) {
    return reject('too-large', `${text.length} characters exceed the limit of ${largest}`)
  }
  const first = text.indexOf('.')
  const second = text.indexOf('.', first + 1)
  if (first === -1 || second === -1 || text.includes('.', second + 1)) {
    return reject('malformed', 'expected three parts separated by dots')
  }
  const header = readObject(decodeBase64url(text.slice(0, first)))
  if (header === undefined)
    return reject('malformed', 'the header is not a base64url-encoded JSON object')
  const payload = decodeBase64url(text.slice(first + 1, second))
  if (payload === undefined) return reject('malformed', 'the payload is not base64url')
  const signature = decodeBase64url(text.slice(second + 1))
  if (signature === undefined) return reject('malformed', 'the signature is not base64url')

  const { alg, kid, crit, b64, typ, cty, zip } = header
  const algorithm = typeof alg === 'string' ? ALGORITHMS.get(alg) : undefined
  if (algorithm === undefined) return reject('unsupported-alg', `alg is ${quote(alg)}`)
  // RFC 7515 §4.1.11: critical extensions must be understood, and the gateway supports none.
  if (crit !== undefined) return reject('unsupported-critical', `crit is ${quote(crit)}`)
  // RFC 7797 requires b64 in crit; without it, two verifiers would verify different bytes.
  if (b64 !== undefined && b64 !== true) {
    return reject('unsupported-critical', `b64 is ${quote(b64)}`)
  }
  // RFC 7515 §4.1.9 requires a string; which ones are accepted depends on the use.
  if (typ !== undefined && typeof typ !== 'string') {
    return reject('malformed', `typ is ${quote(typ)}`)
  }
  if (kid === undefined || kid === '') return reject('missing-kid', 'the header has no kid')
  if (typeof kid !== 'string') return reject('malformed', `kid is ${quote(kid)}`)
  if (signature.length === 0) return reject('malformed', 'the signature is empty')
  const signed = Buffer.from(text.slice(0, second), 'latin1')
  const type = typ === undefined ? undefined : mediaType(typ)
  const wrapped = cty !== undefined ? 'cty' : zip !== undefined ? 'zip' : undefined
  return { algorithm, kid, type, wrapped, payload, signed, signature }
}

/** The claims of a payload, without duplicate members; undefined if it is not a JSON object. */
export function readClaims(payload: Buffer): JsonObject | undefined {
  return readObject(payload)
}

function readObject(bytes: Buffer | undefined): JsonObject | undefined {
  if (bytes === undefined || !isUtf8(bytes)) return undefined
  const value = readJson(bytes.toString('utf8'), { duplicates: 'reject' })
  return value !== undefined && isPlainObject(value) ? value : undefined
}
