import * as z from 'zod'
import { readJson } from '../cel/values/json-read.ts'
import { isPlainObject } from '../cel/values/kind.ts'
import type { Value } from '../cel/values/value.ts'
import type { Material } from '../model/material.ts'
import { file } from './materials.ts'
import { duration, url } from './scalars.ts'
import { issue, oneOfKeys } from './shapes.ts'

export type KeySet =
  | { readonly kind: 'local'; readonly keys: Material }
  | { readonly kind: 'remote'; readonly url: string; readonly cacheDuration: number }

const HINT = 'use {"keys": [{"kty": "RSA", "kid": "…", "n": "…", "e": "AQAB"}]}'

const keyText = () =>
  z
    .string()
    .max(1_048_576)
    .meta({ title: 'JSON Web Key Set' })
    .check(({ value, issues }) => {
      const problem = keySetProblem(value)
      if (problem !== undefined) {
        const message = `this is not a JSON Web Key Set: ${problem}`
        issues.push(issue(value, message, { rule: 'malformed', hint: HINT }))
      }
    })

/** Otherwise all tokens would be rejected without a visible reason. */
const keyFile = () =>
  file((text) => {
    const problem = keySetProblem(text)
    const message = `the file is not a JSON Web Key Set: ${problem}`
    return problem === undefined ? undefined : { message, hint: `in the file, ${HINT}` }
  })

/** Checks the structure only: each key is checked when it is imported. */
function keySetProblem(text: string): string | undefined {
  const written = readKeySet(text)
  if (typeof written === 'string') return written
  const isKey = (key: unknown) => typeof (key as { kty?: unknown } | null)?.kty === 'string'
  return written.every(isKey) ? undefined : 'a key has no `kty`'
}

const keys = z
  .union([
    keyText(),
    oneOfKeys(
      z.strictObject({
        inline: keyText().optional().describe('The key set as a JSON string.'),
        file: keyFile().optional().describe('The path of a file that contains the key set.'),
        url: url().optional().describe('The URL to fetch the key set from.'),
        cacheDuration: duration()
          .prefault('15m')
          .describe('How long a fetched key set is cached. Requires `url`.'),
      }),
      ['inline', 'file', 'url'],
    ),
  ])
  .transform((value): KeySet => {
    if (typeof value === 'string') return { kind: 'local', keys: { text: value } }
    const { inline, file, url, cacheDuration } = value
    if (inline !== undefined) return { kind: 'local', keys: { text: inline } }
    if (file !== undefined) return { kind: 'local', keys: file }
    return { kind: 'remote', url: url as string, cacheDuration }
  })
  .meta({ id: 'key-set' })

export const keySet = () => keys.describe('The keys: `inline`, `file`, `url` or a JSON string.')

const MAX_KEYS = 256

/** The keys of a JSON Web Key Set (RFC 7517 §5), unparsed; a string describes why it is not one. */
export function readKeySet(text: string): readonly Value[] | string {
  if (/^\s*https?:\/\/\S+\s*$/.test(text)) return 'it is a URL, which belongs in `url`'
  const set = readJson(text, { duplicates: 'reject' })
  if (set === undefined) {
    return readJson(text) === undefined ? 'it is not valid JSON' : 'it contains a duplicate name'
  }
  const keys = isPlainObject(set) && Object.hasOwn(set, 'keys') ? set['keys'] : undefined
  if (!Array.isArray(keys)) return 'it has no `keys`'
  return keys.length > MAX_KEYS ? `it has more than ${MAX_KEYS} keys` : keys
}
