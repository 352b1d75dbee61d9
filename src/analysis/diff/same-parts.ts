import { canonicalJson } from '../../model/json.ts'
import { isPlace } from '../../model/places.ts'

/** Whether two parts of Models are equal, wherever they are written. */
export function isSame(a: unknown, b: unknown): boolean {
  return a === b || canonicalJson(a, isPlace) === canonicalJson(b, isPlace)
}
