import { constants } from 'node:crypto'

/** RFC 7518 §3.1, RFC 8037 and RFC 9864, without symmetric algorithms and `none`. */
export interface Algorithm {
  readonly name: string
  readonly keyType: 'RSA' | 'EC' | 'OKP'
  /** The curves of accepted keys; none for RSA. */
  readonly curves: readonly string[]
  /** Undefined if the algorithm implies it. */
  readonly digest: string | undefined
  readonly padding: number | undefined
}

const rsa = (name: string, digest: string): Algorithm => ({
  name,
  keyType: 'RSA',
  curves: [],
  digest,
  padding: constants.RSA_PKCS1_PADDING,
})

const pss = (name: string, digest: string): Algorithm => ({
  ...rsa(name, digest),
  padding: constants.RSA_PKCS1_PSS_PADDING,
})

const ecdsa = (name: string, digest: string, curve: string): Algorithm => ({
  name,
  keyType: 'EC',
  curves: [curve],
  digest,
  padding: undefined,
})

const eddsa = (name: string, ...curves: readonly string[]): Algorithm => ({
  name,
  keyType: 'OKP',
  curves,
  digest: undefined,
  padding: undefined,
})

const ALL: readonly Algorithm[] = [
  rsa('RS256', 'sha256'),
  rsa('RS384', 'sha384'),
  rsa('RS512', 'sha512'),
  pss('PS256', 'sha256'),
  pss('PS384', 'sha384'),
  pss('PS512', 'sha512'),
  ecdsa('ES256', 'sha256', 'P-256'),
  ecdsa('ES384', 'sha384', 'P-384'),
  ecdsa('ES512', 'sha512', 'P-521'),
  eddsa('EdDSA', 'Ed25519', 'Ed448'),
  // RFC 9864: the same with the curve in the name.
  eddsa('Ed25519', 'Ed25519'),
  eddsa('Ed448', 'Ed448'),
]

/** By exact name: `NONE` and `rs256` are as unknown as `none`. */
export const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map(
  ALL.map((algorithm) => [algorithm.name, algorithm]),
)

/** The algorithms that a key of this type and curve can verify. */
export function algorithmsFor(keyType: unknown, curve: unknown): readonly Algorithm[] {
  return ALL.filter(
    (one) =>
      one.keyType === keyType && (one.keyType === 'RSA' || one.curves.includes(curve as string)),
  )
}
