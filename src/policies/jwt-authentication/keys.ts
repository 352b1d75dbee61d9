import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto'
import { isPlainObject } from '../../cel/values/kind.ts'
import type { JsonObject, Value } from '../../cel/values/value.ts'
import { readKeySet } from '../key-sets.ts'
import { ALGORITHMS, type Algorithm, algorithmsFor } from './algorithms.ts'
import { decodeBase64url } from './base64url.ts'
import { isRocaModulus } from './roca.ts'

/** One key of an issuer, and the algorithms that it may verify. */
export interface VerificationKey {
  readonly kid: string
  readonly key: KeyObject
  readonly algorithms: readonly Algorithm[]
}

/** The usable keys, and why the others are not usable. Immutable. */
export interface VerificationKeys {
  readonly byKid: ReadonlyMap<string, readonly VerificationKey[]>
  readonly faults: readonly KeyFault[]
}

export interface KeyFault {
  /** Index in the set. */
  readonly index: number
  readonly kid: string
  readonly problem: string
}

/** The source of an issuer's keys. */
export interface KeySource {
  /** A new object whenever the keys change; undefined as long as there are none. */
  readonly current: VerificationKeys | undefined
  /** Fetches newer keys and waits no longer than a request can; undefined: not now. */
  refetch(): Promise<void> | undefined
}

export function fixedKeys(keys: VerificationKeys | undefined): KeySource {
  return { current: keys, refetch: () => undefined }
}

/** Parses a JSON Web Key Set; undefined if the string is not one. */
export function parseKeys(text: string): VerificationKeys | undefined {
  const written = readKeySet(text)
  if (typeof written === 'string') return undefined
  const faults: KeyFault[] = []
  const found = new Map<string, { readonly index: number; readonly key: VerificationKey }[]>()
  for (const [index, jwk] of written.entries()) {
    const key = importKey(jwk)
    if (typeof key === 'string') {
      faults.push({ index, kid: kidOf(jwk), problem: key })
      continue
    }
    const same = found.get(key.kid)
    if (same === undefined) found.set(key.kid, [{ index, key }])
    else if (!same.some((other) => isSame(other.key, key))) same.push({ index, key })
  }
  const byKid = new Map<string, readonly VerificationKey[]>()
  for (const [kid, entries] of found) {
    const usable = entries.filter(({ index, key }) => {
      const isUnclear = entries.some((other) => other.index !== index && overlap(other.key, key))
      const problem = 'another key has the same kid and an overlapping algorithm'
      if (isUnclear) faults.push({ index, kid, problem })
      return !isUnclear
    })
    if (usable.length > 0)
      byKid.set(
        kid,
        usable.map(({ key }) => key),
      )
  }
  return { byKid, faults }
}

function kidOf(jwk: Value): string {
  const kid = isPlainObject(jwk) ? jwk['kid'] : undefined
  return typeof kid === 'string' ? kid : ''
}

function isSame(one: VerificationKey, other: VerificationKey): boolean {
  const names = (key: VerificationKey) => key.algorithms.map(({ name }) => name).join()
  return names(one) === names(other) && one.key.equals(other.key)
}

function overlap(one: VerificationKey, other: VerificationKey): boolean {
  return one.algorithms.some((algorithm) => other.algorithms.includes(algorithm))
}

/** Members known only to the owner of the key; an issuer that publishes them has lost the key. */
const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

/** A string describes why the key cannot be used. */
function importKey(jwk: Value): VerificationKey | string {
  if (!isPlainObject(jwk)) return 'not a JSON object'
  const { kty, kid, use, key_ops: operations, alg, crv } = jwk
  if (kty === 'oct') return 'symmetric keys are not supported'
  if (PRIVATE_MEMBERS.some((name) => Object.hasOwn(jwk, name)))
    return 'private keys must not be published'
  if (typeof kid !== 'string' || kid === '') return 'kid is missing or not a string'
  if (use !== undefined && use !== 'sig') return `use is ${String(use)}, not sig`
  if (operations !== undefined) {
    if (!Array.isArray(operations)) return 'key_ops is not a list'
    if (!operations.includes('verify')) return 'key_ops does not include verify'
  }
  const fitting = algorithmsFor(kty, crv)
  if (fitting.length === 0) return 'unsupported kty or crv'
  const named = typeof alg === 'string' ? ALGORITHMS.get(alg) : undefined
  if (alg !== undefined && (named === undefined || !fitting.includes(named))) {
    return `alg ${String(alg)} does not match the key type`
  }
  const key = kty === 'RSA' ? importRsa(jwk) : importPoint(jwk)
  if (typeof key === 'string') return key
  return { kid, key, algorithms: named === undefined ? fitting : [named] }
}

const SMALLEST_MODULUS = 2048
/** Verification time grows with the square of the modulus. */
const LARGEST_MODULUS = 8192
const LARGEST_EXPONENT = 2n ** 32n

function importRsa({ n, e }: JsonObject): KeyObject | string {
  const modulus = typeof n === 'string' ? decodeBase64url(n) : undefined
  const exponent = typeof e === 'string' ? decodeBase64url(e) : undefined
  if (!modulus?.length || !exponent?.length) return 'n or e is not base64url'
  const key = toKey({ kty: 'RSA', n: n as string, e: e as string })
  if (key === undefined) return 'n and e do not form an RSA key'
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  if (modulusLength < SMALLEST_MODULUS)
    return `${modulusLength} bits are fewer than the minimum of 2048`
  if (modulusLength > LARGEST_MODULUS)
    return `${modulusLength} bits are more than the maximum of 8192`
  if (publicExponent < 3n || publicExponent % 2n === 0n || publicExponent > LARGEST_EXPONENT) {
    return `unsupported exponent ${publicExponent}`
  }
  if (isRocaModulus(BigInt(`0x${modulus.toString('hex')}`))) {
    return 'the private key can be computed from it (CVE-2017-15361)'
  }
  return key
}

/** RFC 7518 §6.2.1.2 and RFC 8037: coordinates have the full length of the field. */
const COORDINATE_LENGTHS: ReadonlyMap<string, number> = new Map([
  ['P-256', 32],
  ['P-384', 48],
  ['P-521', 66],
  ['Ed25519', 32],
  ['Ed448', 57],
])

function importPoint({ kty, crv, x, y }: JsonObject): KeyObject | string {
  const length = COORDINATE_LENGTHS.get(crv as string)
  const isCoordinate = (value: Value | undefined): value is string =>
    typeof value === 'string' && decodeBase64url(value)?.length === length
  if (!isCoordinate(x)) return `x is not ${length} bytes in base64url`
  if (kty === 'EC' && !isCoordinate(y)) return `y is not ${length} bytes in base64url`
  const point = { kty: kty as string, crv: crv as string, x }
  const key = toKey(kty === 'EC' ? { ...point, y: y as string } : point)
  return key ?? `the point is not on the curve ${String(crv)}`
}

function toKey(jwk: JsonWebKeyInput['key']): KeyObject | undefined {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' })
  } catch {
    return undefined
  }
}
