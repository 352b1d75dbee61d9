import type { ValidPolicy } from '../model/policy.ts'
import { secretText } from '../model/secret.ts'
import type { A2a, CardSigning } from '../policies/a2a/schema.ts'
import { jwsSigner } from '../policies/jws-signer.ts'
import { openKeys, SYSTEM_DEPS } from '../policies/jwt-authentication/checker.ts'
import type { KeySource } from '../policies/jwt-authentication/keys.ts'
import { isRejection } from '../policies/jwt-authentication/rejection.ts'
import { RemoteKeys } from '../policies/jwt-authentication/remote.ts'
import { parseToken } from '../policies/jwt-authentication/token.ts'
import { verifySignature } from '../policies/jwt-authentication/verify.ts'
import {
  type CardSignature,
  payloadsToSign,
  readSignedCard,
  type SignedPayload,
  withSignatures,
} from '../protocols/a2a/signed-card.ts'
import type { JsonPath } from '../protocols/json-text.ts'
import type { Compilation } from './compilation.ts'

/** Verifies and adds signatures of an agent's cards, as its policy requires. */
export interface CardSignatures {
  /** What a signature by one of the keys covers; undefined if no signature is required. */
  readonly verify: ((text: string, within: JsonPath) => Promise<Covered>) | undefined
  /** Returns the card with the gateway's signatures; undefined if the gateway does not sign. */
  readonly sign: ((text: string, within: JsonPath) => string) | undefined
}

/** All members of the card, only those of A2A 1.0, or none. */
export type Covered = 'all' | '1.0' | 'none'

/** Undefined if the gateway's key cannot be used. */
export function openCardSignatures(
  { contexts, services }: Compilation,
  policy: ValidPolicy,
): CardSignatures | undefined {
  const { verify, sign: signing } = policy.value as A2a
  const signer = signing && openSigner(signing)
  if (signing !== undefined && signer === undefined) return undefined
  if (verify === undefined) return { verify: undefined, sign: signer }
  const { jwks } = verify
  const name = jwks.kind === 'remote' ? jwks.url : ''
  const policyDeps = { ...SYSTEM_DEPS, ...services.policyDeps }
  const { keys } = contexts.keep(
    policy,
    'card-keys',
    () => new CardKeys(openKeys(name, jwks, policyDeps)),
  )
  return { verify: (text, within) => verifyCard(text, within, keys), sign: signer }
}

class CardKeys {
  readonly keys: KeySource

  constructor(keys: KeySource) {
    this.keys = keys
  }

  close(): void {
    if (this.keys instanceof RemoteKeys) this.keys.close()
  }
}

/** Limits the size of a card and its canonical forms together; real cards are smaller. */
const MAX_SIGNED = 8 * 1024 * 1024
/** Signatures that are checked: each needs a verification for each form. */
const MAX_SIGNATURES = 8

async function verifyCard(text: string, within: JsonPath, keys: KeySource): Promise<Covered> {
  const card = readSignedCard(text, within)
  if (card === undefined) return 'none'
  const signatures = card.signatures.slice(0, MAX_SIGNATURES)
  const found = coveredBy(card.payloads, signatures, keys)
  // An agent may sign with a key that is newer than the fetched keys.
  if (found !== 'unknown-key') return found
  await keys.refetch()
  const again = coveredBy(card.payloads, signatures, keys)
  return again === 'unknown-key' ? 'none' : again
}

function coveredBy(
  payloads: readonly SignedPayload[],
  signatures: readonly CardSignature[],
  keys: KeySource,
): Covered | 'unknown-key' {
  let isKeyMissing = false
  for (const { text, isWhole } of payloads) {
    const payload = Buffer.from(text).toString('base64url')
    for (const own of signatures) {
      const jws = parseToken(`${own.protected}.${payload}.${own.signature}`, MAX_SIGNED)
      if (isRejection(jws)) continue
      const { current } = keys
      const rejection = current && verifySignature(jws, current, keys)
      if (current !== undefined && rejection === undefined) return isWhole ? 'all' : '1.0'
      isKeyMissing ||= current === undefined || rejection?.source !== undefined
    }
  }
  return isKeyMissing ? 'unknown-key' : 'none'
}

function openSigner({ key: ref, keyId, jwksUrl }: CardSigning): CardSignatures['sign'] {
  const signer = jwsSigner(secretText(ref) ?? '')
  if (signer === undefined) return undefined
  const { alg } = signer
  const jku = jwksUrl === undefined ? {} : { jku: jwksUrl }
  const header = JSON.stringify({ alg, typ: 'JOSE', kid: keyId, ...jku })
  const written = Buffer.from(header).toString('base64url')
  const signed = (payload: string): CardSignature => {
    const input = `${written}.${Buffer.from(payload).toString('base64url')}`
    return { protected: written, signature: signer.sign(input) }
  }
  return (text, within) => {
    const payloads = payloadsToSign(text, within)
    return payloads === undefined ? text : withSignatures(text, within, payloads.map(signed))
  }
}
