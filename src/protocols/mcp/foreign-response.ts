import { membersNamed } from '../json-text.ts'

/**
 * Whether a message of a server is a result for another request than this one, in whose response it
 * came. Clients take it for what they asked for elsewhere, as a list of tools, where rules and pins
 * would have decided about it. `id`: of the request; `null`: it was none, and has no result.
 */
export function isForeignResult(text: string, id: string): boolean {
  // Several messages as one: nobody sent a server more than one.
  if (!/^\s*\{/.test(text)) return true
  if (membersNamed(text, 'result').length === 0) return false
  const own = textOfId(id)
  const ids = membersNamed(text, 'id')
  // Clients take the number that is written as a string for the number.
  return ids.length === 0 || !ids.every((one) => textOfId(one) === own && own !== 'null')
}

function textOfId(id: string): string {
  if (!/^["\d-]/.test(id)) return 'null'
  try {
    return String(JSON.parse(id))
  } catch {
    return 'null'
  }
}
