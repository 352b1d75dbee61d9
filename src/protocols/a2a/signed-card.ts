import { readJson } from '../../cel/values/json-read.ts'
import { canonicalJson } from '../../model/json.ts'
import { editJson, type JsonPath } from '../json-text.ts'

/** A signature of a card: a JWS in flattened JSON (RFC 7515 §7.2.2) without its payload. */
export interface CardSignature {
  readonly protected: string
  readonly signature: string
}

type Members = Readonly<Record<string, unknown>>

/** The signed payload, in every form that signers produce, and its signatures. */
export interface SignedCard {
  readonly payloads: readonly SignedPayload[]
  readonly signatures: readonly CardSignature[]
}

export interface SignedPayload {
  readonly text: string
  /** True if it covers every member of the card, otherwise only those of A2A 1.0 (`isOf1_0`). */
  readonly isWhole: boolean
}

/** Members of a card in A2A 1.0; cards that also serve older clients have additional ones. */
const MEMBERS_OF_1_0: ReadonlySet<string> = new Set([
  'name',
  'description',
  'supportedInterfaces',
  'provider',
  'version',
  'documentationUrl',
  'capabilities',
  'securitySchemes',
  'securityRequirements',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
  'iconUrl',
])

export function isOf1_0(member: string): boolean {
  return MEMBERS_OF_1_0.has(member)
}

/**
 * Returns undefined if the text is not a card, or if a duplicate member makes it ambiguous to
 * readers.
 */
export function readSignedCard(text: string, within: JsonPath): SignedCard | undefined {
  if (readJson(text, { duplicates: 'reject' }) === undefined) return undefined
  const card = cardIn(text, within)
  if (card === undefined) return undefined
  const { signatures, ...rest } = card
  const written = Array.isArray(signatures) ? (signatures as unknown[]) : []
  return { payloads: payloadsOf(rest), signatures: written.filter(isSignature) }
}

/** Returns the payloads to sign so that clients of every kind find a signature they can verify. */
export function payloadsToSign(text: string, within: JsonPath): readonly string[] | undefined {
  const card = cardIn(text, within)
  if (card === undefined) return undefined
  const { signatures: _, ...rest } = card
  const [, cleaned, ...of1_0] = payloadsOf(rest)
  return [...new Set([cleaned, ...of1_0].flatMap((one) => one?.text ?? []))]
}

export function withSignatures(
  text: string,
  within: JsonPath,
  signatures: readonly CardSignature[],
): string {
  const written = `"signatures":${JSON.stringify(signatures)}`
  return editJson(text, (path, raw) => {
    if (!path.every((one, index) => one === within[index])) return 'keep'
    if (path.length < within.length) return 'enter'
    const card = raw().trimEnd().slice(0, -1).trimEnd()
    return { text: `${card}${card.endsWith('{') ? '' : ','}${written}}` }
  })
}

/**
 * The RFC 8785 form of all members (A2A 1.0 §8.4.1); the same without empty members; and also
 * without members that 1.0 does not define, since signers that use the protocol's own types omit
 * them.
 */
function payloadsOf(card: Members): readonly SignedPayload[] {
  const known = Object.fromEntries(Object.entries(card).filter(([name]) => isOf1_0(name)))
  const isWhole = Object.keys(known).length === Object.keys(card).length
  return [
    { text: canonicalJson(card), isWhole: true },
    { text: canonicalJson(withoutEmpty(card) ?? {}), isWhole: true },
    ...(isWhole ? [] : [{ text: canonicalJson(withoutEmpty(known) ?? {}), isWhole }]),
  ]
}

/** Returns undefined for an empty value. */
function withoutEmpty(value: unknown): unknown {
  if (value === '' || value === null) return undefined
  if (typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined)
    return items.length === 0 ? undefined : items
  }
  const members = Object.entries(value as Members)
    .map(([name, own]) => [name, withoutEmpty(own)] as const)
    .filter(([, own]) => own !== undefined)
  return members.length === 0 ? undefined : Object.fromEntries(members)
}

function isSignature(one: unknown): one is CardSignature {
  const { protected: header, signature } = (one ?? {}) as Members
  return typeof header === 'string' && typeof signature === 'string'
}

function cardIn(text: string, within: JsonPath): Members | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  for (const name of within) value = (value as Record<string, unknown> | null)?.[name]
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Members)
    : undefined
}
