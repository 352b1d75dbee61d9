import type { Exchange } from '../exchange/exchange.ts'
import { type HeaderEdit, headerEdit } from '../exchange/header-edit.ts'
import type { Endpoint } from '../protocols/llm/dialect.ts'
import type { Header } from '../protocols/llm/error.ts'
import { guardedTranslator, translatorFor } from '../protocols/llm/index.ts'
import type { ProviderAccess } from '../protocols/llm/provider.ts'
import type { ProviderOptions } from '../protocols/llm/schema.ts'
import type { Translator } from '../protocols/llm/translator.ts'

/* Where a call to a provider goes, and what it changes in the headers of its client. */

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

/** What a call whose bytes pass lacks: the client has the say but for the type of its body. */
export function missingHeaders(
  headers: readonly Header[],
  { request }: Exchange,
): readonly Header[] {
  return headers.filter(([name]) => {
    const given = request.headers.get(name)
    // The provider must not read as anything else what rules have read as JSON.
    return given === undefined || (name === 'content-type' && !IS_READ.test(given))
  })
}

const IS_READ = /^(?:application\/json(?: *; *charset="?utf-8"?)?|multipart\/form-data\b.*)$/i

const CODINGS = ['accept-encoding', 'content-encoding']
const PASSING = headerEdit({ remove: CODINGS })

/** What says something about the client's language alone. */
const FOREIGN_HEADERS = ['anthropic-version', 'anthropic-beta', 'openai-organization']

export function pathFor(
  below: string,
  dialect: Endpoint['dialect'],
  { model }: { model: string },
  access: ProviderAccess,
  options: ProviderOptions,
): string {
  const { pathOverride, pathPrefix } = options
  if (typeof pathOverride === 'string') return pathOverride
  const own = access.ownPath?.(dialect, options)
  if (own !== undefined) return own
  if (typeof pathPrefix === 'string') return `${pathPrefix.replace(/\/$/, '')}${below}`
  return access.path(below, { dialect, model, options })
}

/** Of the languages that a provider speaks the first that will do, the client's own before all. */
export function chooseTranslator(
  client: Endpoint['dialect'],
  spoken: ReturnType<ProviderAccess['dialects']>,
  isGuarded: boolean,
): Translator | undefined {
  const find = isGuarded ? guardedTranslator : translatorFor
  if (spoken.includes(client)) return find(client, client)
  for (const dialect of spoken) {
    const found = find(client, dialect)
    if (found !== undefined) return found
  }
  return undefined
}
