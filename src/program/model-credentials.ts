import type { Exchange } from '../exchange/exchange.ts'
import { HeaderEdit, headerEdit, NO_EDIT } from '../exchange/header-edit.ts'
import { removeParameter } from '../policies/find-credential.ts'
import type { CredentialHeader } from '../protocols/llm/provider.ts'

/** Where clients of models put their credentials. */
const CLIENT_CREDENTIALS = new HeaderEdit(
  ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'cookie'],
  [],
)

/** The same in queries: of Google, and of what is commonly put before the APIs of others. */
const CLIENT_PARAMETERS = [
  ...['key', 'access_token', 'oauth_token', 'bearer_token'],
  ...['api_key', 'api-key', 'apikey', 'subscription-key'],
]

/**
 * What a client knows the gateway by is none of a provider's business, and a key of the client's own
 * would let it choose who pays. What policies set themselves stays.
 */
export function withholdCredentials(exchange: Exchange): void {
  exchange.requestEdit = CLIENT_CREDENTIALS.with(exchange.requestEdit)
  if (exchange.search === '') return
  for (const name of CLIENT_PARAMETERS) removeParameter(exchange, name)
}

const BEARER = 'Bearer '

/** Edits are made once for each configuration, and so are these. */
const moved = new WeakMap<HeaderEdit, HeaderEdit>()

/** A key that was to be sent as a bearer token, at the place where the provider looks for keys. */
export function moveKey(exchange: Exchange, { name, prefix }: CredentialHeader): void {
  const { credentialEdit } = exchange
  if (credentialEdit === NO_EDIT) return
  let edit = moved.get(credentialEdit)
  if (edit === undefined) {
    const [, value = ''] = credentialEdit.added.find(([own]) => own === 'authorization') ?? []
    // A token of OAuth is no key.
    const isKey = value.startsWith(BEARER) && !value.startsWith(`${BEARER}sk-ant-oat`)
    const key = { name, value: `${prefix}${value.slice(BEARER.length)}` }
    edit = isKey
      ? credentialEdit.with(headerEdit({ remove: ['authorization'], set: [key] }))
      : credentialEdit
    moved.set(credentialEdit, edit)
  }
  exchange.credentialEdit = edit
}
