import type { Exchange } from '../exchange/exchange.ts'
import { HeaderEdit, headerEdit, NO_EDIT } from '../exchange/header-edit.ts'
import { removeParameter } from '../policies/find-credential.ts'
import type { CredentialHeader } from '../protocols/llm/provider.ts'

/** Headers in which clients of models send their credentials. */
const CLIENT_CREDENTIALS = new HeaderEdit(
  ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'cookie'],
  [],
)

/** The same for query parameters: Google's, and those common for API gateways. */
const CLIENT_PARAMETERS = [
  ...['key', 'access_token', 'oauth_token', 'bearer_token'],
  ...['api_key', 'api-key', 'apikey', 'subscription-key'],
]

/**
 * A provider must not see the credentials that identify a client to the gateway, and with a key of
 * its own, the client could choose who pays. Credentials that policies set stay.
 */
export function withholdCredentials(exchange: Exchange): void {
  exchange.requestEdit = CLIENT_CREDENTIALS.with(exchange.requestEdit)
  if (exchange.search === '') return
  for (const name of CLIENT_PARAMETERS) removeParameter(exchange, name)
}

const BEARER = 'Bearer '

/** Edits are created once for each configuration, and so are these. */
const moved = new WeakMap<HeaderEdit, HeaderEdit>()

/**
 * Moves a key that would be sent as a bearer token to the place where the provider expects keys.
 */
export function moveKey(exchange: Exchange, { name, prefix }: CredentialHeader): void {
  const { credentialEdit } = exchange
  if (credentialEdit === NO_EDIT) return
  let edit = moved.get(credentialEdit)
  if (edit === undefined) {
    const [, value = ''] = credentialEdit.added.find(([own]) => own === 'authorization') ?? []
    // An OAuth token is not a key.
    const isKey = value.startsWith(BEARER) && !value.startsWith(`${BEARER}sk-ant-oat`)
    const key = { name, value: `${prefix}${value.slice(BEARER.length)}` }
    edit = isKey
      ? credentialEdit.with(headerEdit({ remove: ['authorization'], set: [key] }))
      : credentialEdit
    moved.set(credentialEdit, edit)
  }
  exchange.credentialEdit = edit
}
