import { readJson } from '../../cel/values/json-read.ts'
import { isPlainObject } from '../../cel/values/kind.ts'
import type { Value } from '../../cel/values/value.ts'

const MAX_KEYS = 256

/** The keys of a JSON Web Key Set (RFC 7517 §5) as they are written; a sentence where it is none. */
export function readKeySet(text: string): readonly Value[] | string {
  const set = readJson(text, { duplicates: 'refuse' })
  if (set === undefined) {
    return readJson(text) === undefined ? 'it is not JSON' : 'it has a name twice'
  }
  const keys = isPlainObject(set) && Object.hasOwn(set, 'keys') ? set['keys'] : undefined
  if (!Array.isArray(keys)) return 'it has no `keys`'
  return keys.length > MAX_KEYS ? `it has more than ${MAX_KEYS} keys` : keys
}
