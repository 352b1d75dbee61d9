import { constants, createPrivateKey, type KeyObject, sign } from 'node:crypto'

/** The key type and digest of each algorithm (RFC 7518 §3.1, RFC 8037). */
const ALGORITHMS = {
  RS256: ['rsa', 'sha256'],
  RS384: ['rsa', 'sha384'],
  RS512: ['rsa', 'sha512'],
  PS256: ['rsa', 'sha256'],
  PS384: ['rsa', 'sha384'],
  PS512: ['rsa', 'sha512'],
  ES256: ['prime256v1', 'sha256'],
  ES384: ['secp384r1', 'sha384'],
  ES512: ['secp521r1', 'sha512'],
  EdDSA: ['ed25519', undefined],
} as const satisfies Record<string, readonly [string, string | undefined]>

export type SigningAlgorithm = keyof typeof ALGORITHMS

/** RFC 7518 §3.3 */
const MIN_RSA_BITS = 2048

export interface JwsSigner {
  readonly alg: SigningAlgorithm
  /** The signature of `header.payload`, all in base64url. */
  sign(input: string): string
}

/**
 * Signs with a PEM private key; without `wanted`, with the default algorithm for the key.
 * Undefined: the key is not valid for the algorithm, or for any.
 */
export function jwsSigner(pem: string, wanted?: SigningAlgorithm): JwsSigner | undefined {
  let key: KeyObject
  try {
    key = createPrivateKey(pem)
  } catch {
    return undefined
  }
  const names = wanted === undefined ? (Object.keys(ALGORITHMS) as SigningAlgorithm[]) : [wanted]
  const alg = names.find((name) => fits(key, ALGORITHMS[name][0]))
  if (alg === undefined) return undefined
  const [, digest] = ALGORITHMS[alg]
  const how = {
    key,
    dsaEncoding: 'ieee-p1363',
    ...(alg.startsWith('PS')
      ? {
          padding: constants.RSA_PKCS1_PSS_PADDING,
          saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
        }
      : {}),
  } as const
  return { alg, sign: (input) => sign(digest, Buffer.from(input), how).toString('base64url') }
}

function fits({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject, kind: string) {
  if (type === 'ec') return details?.namedCurve === kind
  return type === kind && (type !== 'rsa' || (details?.modulusLength ?? 0) >= MIN_RSA_BITS)
}
