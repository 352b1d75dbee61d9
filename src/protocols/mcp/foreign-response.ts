import { membersNamed } from '../json-text.ts'

/**
 * True if a server's message is a result for a request other than the one in whose response it
 * arrived. Clients take it for the result of another request, such as a list of tools, to which
 * rules and pins would have applied. `id` is that of the request, or `null` for a message that is
 * not a request and has no result.
 */
export function isForeignResult(text: string, id: string): boolean {
  // Several messages as one: the gateway never sends a server more than one.
  if (!/^\s*\{/.test(text)) return true
  if (membersNamed(text, 'result').length === 0) return false
  const own = textOfId(id)
  const ids = membersNamed(text, 'id')
  // Clients treat a number written as a string as the number.
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
