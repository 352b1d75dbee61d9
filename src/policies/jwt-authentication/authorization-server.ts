import type { Exchange } from '../../exchange/exchange.ts'
import { headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { CallService, ServiceResponse } from '../../exchange/service-call.ts'
import { secretText } from '../../model/secret.ts'
import {
  ADAPTATIONS,
  AUTHORIZE,
  type AuthorizationServer,
  REGISTRATION,
  SERVER_METADATA,
  TOKEN,
  withoutSlash,
} from './identity-providers.ts'

type Json = Readonly<Record<string, unknown>>

const TIMEOUT = 10_000
const MAX_BYTES = 262_144
/** Milliseconds that the metadata stays fresh. */
const FRESH = 300_000

const CORS = [
  { name: 'access-control-allow-origin', value: '*' },
  { name: 'access-control-allow-methods', value: 'GET, POST, OPTIONS' },
  { name: 'access-control-allow-headers', value: 'content-type, mcp-protocol-version' },
  { name: 'cache-control', value: 'no-store' },
]

/** State that survives reloads: the metadata that was fetched last. */
export class ServerMetadata {
  #kept: { readonly value: Json; readonly until: number } | undefined
  #asked: Promise<Json | string> | undefined

  /** A string describes why there is none. */
  read(
    server: AuthorizationServer,
    exchange: Exchange,
    ask: CallService,
    now: () => number,
  ): Json | Promise<Json | string> {
    if (this.#kept !== undefined && this.#kept.until > now()) return this.#kept.value
    this.#asked ??= fetchMetadata(server, exchange, ask)
      .then((value) => {
        if (typeof value !== 'string') this.#kept = { value, until: now() + FRESH }
        return value
      })
      .finally(() => {
        this.#asked = undefined
      })
    return this.#asked
  }
}

async function fetchMetadata(
  { issuer, metadataPath }: AuthorizationServer,
  exchange: Exchange,
  ask: CallService,
): Promise<Json | string> {
  const response = await ask(exchange, question('GET', metadataPath, [], new Uint8Array()))
  if ('failure' in response) return response.failure
  const metadata = response.status === 200 ? jsonOf(response.body) : undefined
  if (metadata === undefined) return `status ${response.status}, no metadata`
  // RFC 8414 §3.3: metadata of a different issuer would send clients there.
  const own = metadata['issuer']
  const isOwn = typeof own === 'string' && withoutSlash(own) === withoutSlash(issuer)
  return isOwn ? metadata : 'the metadata belongs to another issuer'
}

function question(
  method: string,
  path: string,
  headers: readonly (readonly [string, string])[],
  body: Uint8Array,
) {
  const accept = ['accept', 'application/json'] as const
  const all = [accept, ...headers]
  return { method, path, authority: '', headers: all, body, timeout: TIMEOUT, maxBytes: MAX_BYTES }
}

export interface ServerFrontDeps {
  readonly server: AuthorizationServer
  readonly metadata: ServerMetadata
  readonly ask: CallService
  readonly now: () => number
}

/**
 * Presents the identity provider as the authorization server that MCP clients expect. `base`: the
 * URL of the resource for clients, which also identifies the authorization server. Undefined: the
 * request is for something else.
 */
export function serverFront(deps: ServerFrontDeps) {
  const { server, metadata, ask, now } = deps
  return (exchange: Exchange, base: URL): Reply | Promise<Reply> | undefined => {
    const { method, path } = exchange.request
    if (path !== SERVER_METADATA && !path.startsWith(`${SERVER_METADATA}/`)) return undefined
    if (method === 'OPTIONS') return reply(204, 'direct-response', '', headerEdit({ set: CORS }))
    const place = placeOf(base)
    const name = path.slice(path.lastIndexOf('/') + 1)
    const serve = (read: Json | string): Reply | Promise<Reply> => {
      if (typeof read === 'string') return unavailable(`metadata: ${read}`)
      const isRead = method === 'GET' || method === 'HEAD'
      if (name === REGISTRATION && method === 'POST') return register(deps, exchange, read)
      if (!ADAPTATIONS[server.provider].rejectsResource) {
        return isRead ? metadataReply(server, read, place) : NOT_ALLOWED
      }
      if (name === TOKEN && method === 'POST') return exchangeCode(deps, exchange, read)
      if (name === AUTHORIZE && isRead) return authorize(server, exchange, read)
      return isRead ? metadataReply(server, read, place) : NOT_ALLOWED
    }
    const read = metadata.read(server, exchange, ask, now)
    return read instanceof Promise ? read.then(serve) : serve(read)
  }
}

interface Place {
  /** The issuer as clients know it. */
  readonly issuer: string
  /** The base URL of the gateway's own endpoints. */
  readonly endpoints: string
}

function placeOf({ origin, pathname }: URL): Place {
  const path = withoutSlash(pathname)
  return { issuer: `${origin}${path}`, endpoints: `${origin}${SERVER_METADATA}${path}` }
}

/** Members of the provider's metadata that do not apply to the gateway. */
const NOT_PASSED = ['signed_metadata', 'authorization_response_iss_parameter_supported']

function metadataReply(server: AuthorizationServer, read: Json, place: Place): Reply {
  const { takesAudience, rejectsResource } = ADAPTATIONS[server.provider]
  const own: Record<string, unknown> = { ...read, issuer: place.issuer }
  for (const name of NOT_PASSED) delete own[name]
  const authorization = read['authorization_endpoint']
  if (takesAudience && typeof authorization === 'string' && URL.canParse(authorization)) {
    const url = new URL(authorization)
    url.searchParams.set('audience', server.audience)
    own['authorization_endpoint'] = url.href
  }
  if (rejectsResource) {
    own['authorization_endpoint'] = `${place.endpoints}/${AUTHORIZE}`
    own['token_endpoint'] = `${place.endpoints}/${TOKEN}`
  }
  // MCP clients require it; all of these providers support it, but not all announce it.
  own['code_challenge_methods_supported'] ??= ['S256']
  if (server.clientId !== undefined || read['registration_endpoint'] !== undefined) {
    own['registration_endpoint'] = `${place.endpoints}/${REGISTRATION}`
  }
  if (server.clientId !== undefined) own['token_endpoint_auth_methods_supported'] = ['none']
  return jsonReply(200, own)
}

/** RFC 7591: returns the configured client, or registers one with the provider. */
function register(
  { server, ask }: ServerFrontDeps,
  exchange: Exchange,
  read: Json,
): Reply | Promise<Reply> {
  const { clientId } = server
  const { body = new Uint8Array() } = exchange.request
  if (clientId === undefined) {
    return forward(server, exchange, ask, read['registration_endpoint'], 'application/json', body)
  }
  const { redirect_uris: uris, client_name: name } = jsonOf(body) ?? {}
  const isList = Array.isArray(uris) && uris.length > 0 && uris.length <= 16
  if (!isList || !uris.every((one) => typeof one === 'string' && URL.canParse(one))) {
    return jsonReply(400, { error: 'invalid_redirect_uri' })
  }
  return jsonReply(201, {
    client_id: clientId,
    ...(typeof name === 'string' ? { client_name: name.slice(0, 256) } : {}),
    redirect_uris: uris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  })
}

function authorize({ issuer }: AuthorizationServer, { request }: Exchange, read: Json): Reply {
  const endpoint = endpointOf(issuer, read['authorization_endpoint'])
  if (endpoint === undefined) return unavailable('the issuer has no authorization endpoint')
  for (const [name, value] of new URLSearchParams(request.search)) {
    if (name !== 'resource') endpoint.searchParams.append(name, value)
  }
  const set = [...CORS, { name: 'location', value: endpoint.href }]
  return reply(302, 'redirect', '', headerEdit({ set }))
}

/** Grants that a user has consented to; with others, anyone could use the gateway's secret. */
const GRANTS: ReadonlySet<string> = new Set(['authorization_code', 'refresh_token'])

function exchangeCode(
  { server, ask }: ServerFrontDeps,
  exchange: Exchange,
  read: Json,
): Reply | Promise<Reply> {
  const text = new TextDecoder().decode(exchange.request.body ?? new Uint8Array())
  const form = new URLSearchParams(text)
  form.delete('resource')
  const grant = form.getAll('grant_type')
  if (grant.length !== 1 || !GRANTS.has(grant[0] as string)) {
    return jsonReply(400, { error: 'unsupported_grant_type' })
  }
  const isOfGateway = form.getAll('client_id').join(' ') === server.clientId
  if (server.clientSecret !== undefined) {
    // A stolen code alone must be useless.
    const isProven = grant[0] === 'refresh_token' || form.getAll('code_verifier').length === 1
    if (!isOfGateway) return jsonReply(400, { error: 'invalid_client' })
    if (!isProven) return jsonReply(400, { error: 'invalid_grant' })
    form.set('client_secret', secretText(server.clientSecret)?.trim() ?? '')
  }
  const type = 'application/x-www-form-urlencoded'
  const body = new TextEncoder().encode(form.toString())
  return forward(server, exchange, ask, read['token_endpoint'], type, body)
}

/** Forwards the provider's response if it is JSON. */
async function forward(
  { issuer }: AuthorizationServer,
  exchange: Exchange,
  ask: CallService,
  written: unknown,
  type: string,
  body: Uint8Array,
): Promise<Reply> {
  const endpoint = endpointOf(issuer, written)
  if (endpoint === undefined)
    return unavailable('an endpoint does not have the origin of the issuer')
  const path = `${endpoint.pathname}${endpoint.search}`
  const response = await ask(exchange, question('POST', path, [['content-type', type]], body))
  if ('failure' in response) return unavailable(response.failure)
  return passed(response)
}

function passed({ status, body }: ServiceResponse): Reply {
  const read = jsonOf(body)
  const isPassed = read !== undefined && status >= 200 && status < 500
  return isPassed ? jsonReply(status, read) : unavailable(`status ${status}`)
}

/** The gateway never contacts hosts that the configuration does not name. */
function endpointOf(issuer: string, written: unknown): URL | undefined {
  const url = typeof written === 'string' ? URL.parse(written) : null
  return url !== null && url.origin === new URL(issuer).origin ? url : undefined
}

const NOT_ALLOWED = reply(405, 'bad-request', '', headerEdit({ set: CORS }))

function unavailable(detail: string): Reply {
  return { ...reply(503, 'authentication'), detail: `authorization server: ${detail}` }
}

function jsonReply(status: number, value: Json): Reply {
  const text = `${JSON.stringify(value)}\n`
  const own = reply(status, 'direct-response', text, headerEdit({ set: CORS }))
  return { ...own, contentType: 'application/json' }
}

function jsonOf(bytes: Uint8Array): Json | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Json) : undefined
  } catch {
    return undefined
  }
}
