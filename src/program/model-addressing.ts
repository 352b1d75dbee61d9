import { type HeaderEdit, headerEdit } from '../exchange/header-edit.ts'

/* What a call to a provider changes in the headers of its client. */

/** Few are different, and the wire keeps what it rendered of each. */
const ADDRESSING = new Map<string, HeaderEdit>()
const MAX_ADDRESSING = 1_000

export function addressingEdit(
  headers: readonly (readonly [name: string, value: string])[],
  isPassThrough: boolean,
): HeaderEdit {
  if (isPassThrough && headers.length === 0) return PASSING
  const key = JSON.stringify([isPassThrough, headers])
  let edit = ADDRESSING.get(key)
  if (edit === undefined) {
    const set = headers.map(([name, value]) => ({ name, value }))
    const foreign = isPassThrough ? [] : FOREIGN_HEADERS
    edit = headerEdit({ set, remove: [...CODINGS, ...foreign] })
    if (ADDRESSING.size >= MAX_ADDRESSING) ADDRESSING.clear()
    ADDRESSING.set(key, edit)
  }
  return edit
}

const CODINGS = ['accept-encoding', 'content-encoding']
const PASSING = headerEdit({ remove: CODINGS })

/** What says something about the client's language alone. */
const FOREIGN_HEADERS = ['anthropic-version', 'anthropic-beta', 'openai-organization']
