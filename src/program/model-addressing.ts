import type { Exchange } from '../exchange/exchange.ts'
import { type HeaderEdit, headerEdit } from '../exchange/header-edit.ts'
import type { Endpoint } from '../protocols/llm/dialect.ts'
import type { Header } from '../protocols/llm/error.ts'
import { guardedTranslator, translatorFor } from '../protocols/llm/index.ts'
import type { ProviderAccess } from '../protocols/llm/provider.ts'
import type { ProviderOptions } from '../protocols/llm/schema.ts'
import type { Translator } from '../protocols/llm/translator.ts'

/* Determines where a call to a provider goes, and which client headers it changes. */

/** Few of them differ, and the wire layer caches the rendered form of each. */
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

/** The headers that a pass-through call lacks: client headers win, except for the content type. */
export function missingHeaders(
  headers: readonly Header[],
  { request }: Exchange,
): readonly Header[] {
  return headers.filter(([name]) => {
    const given = request.headers.get(name)
    // What rules have read as JSON, the provider must not read as anything else.
    return given === undefined || (name === 'content-type' && !IS_READ.test(given))
  })
}

const IS_READ = /^(?:application\/json(?: *; *charset="?utf-8"?)?|multipart\/form-data\b.*)$/i

const CODINGS = ['accept-encoding', 'content-encoding']
const PASSING = headerEdit({ remove: CODINGS })

/** Headers that are specific to the client's dialect. */
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

/** The first suitable dialect that a provider speaks; the client's own dialect is preferred. */
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
