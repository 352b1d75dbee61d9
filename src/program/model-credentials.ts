import type { Exchange } from '../exchange/exchange.ts'
import { NOTHING_FORWARDED } from '../exchange/forwarded-headers.ts'
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

/** The only headers of clients that reach a model provider: content, versions and tracing. */
const PROVIDER_HEADERS: ReadonlySet<string> = new Set([
  ...['accept', 'accept-language', 'content-type', 'content-disposition', 'content-language'],
  ...['if-match', 'if-none-match', 'range', 'user-agent', 'idempotency-key', 'date'],
  ...['openai-beta', 'anthropic-version', 'anthropic-beta', 'x-goog-api-client'],
  ...['traceparent', 'tracestate', 'x-request-id', 'x-client-request-id'],
  // The handshake of a WebSocket; its subprotocols may contain a key.
  ...['sec-websocket-key', 'sec-websocket-version', 'sec-websocket-extensions'],
])

/** Headers by which a client identifies itself to a provider, and says who pays. */
const PROVIDER_CREDENTIALS: ReadonlySet<string> = new Set([
  ...['authorization', 'x-api-key', 'api-key', 'x-goog-api-key', 'x-goog-user-project'],
  ...['openai-organization', 'openai-project', 'sec-websocket-protocol'],
])

/**
 * Withholds the client's headers from a model provider, except for those that it needs. A list of
 * credentials would never be complete: proxies before the gateway add sessions under any name.
 */
export function withholdHeaders(exchange: Exchange, keepsCredentials: boolean): void {
  if (!keepsCredentials) withholdCredentials(exchange)
  exchange.forwarded = NOTHING_FORWARDED
  const removed = [...exchange.request.headers.keys()].filter(
    (name) => !PROVIDER_HEADERS.has(name) && !(keepsCredentials && PROVIDER_CREDENTIALS.has(name)),
  )
  if (removed.length > 0)
    exchange.requestEdit = headerEdit({ remove: removed }).with(exchange.requestEdit)
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
