import type { RequestAttributes } from '../../exchange/attributes.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { HeaderEdit, headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { Outcome, Step } from '../../exchange/step.ts'
import { SERVER_METADATA, withoutSlash } from './identity-providers.ts'
import type { ResourceMetadata } from './schema.ts'

/** RFC 9728 §3: a prefix of the path of the resource. */
const WELL_KNOWN = '/.well-known/oauth-protected-resource'

const CHALLENGE = 'www-authenticate'

/** Pages of any origin may read the metadata: it contains no secrets. */
const PUBLIC = headerEdit({ set: [{ name: 'access-control-allow-origin', value: '*' }] })

/**
 * What an OAuth resource server provides in addition to checking tokens: metadata that names the
 * trusted authorization servers, and challenges that link to the metadata.
 */
export function protectedResource(
  metadata: ResourceMetadata,
  issuers: readonly string[],
  authenticate: Step,
  front?: ServerFront,
): Step {
  const { scopesSupported: scopes = [] } = metadata
  const scope = scopes.length > 0 ? `, scope="${scopes.join(' ')}"` : ''
  const challenged = (exchange: Exchange, outcome: Outcome): Outcome => {
    const url = metadataUrl(metadata, exchange.request)
    exchange.resourceMetadata = url
    if (outcome?.status !== 401) return outcome
    return withChallenge(outcome, `, resource_metadata="${url}"${scope}`)
  }
  return (exchange) => {
    const { request } = exchange
    if (isBelow(request, WELL_KNOWN)) {
      return metadataReply(metadata, front === undefined ? issuers : undefined, request)
    }
    const fronted = front?.(exchange, resourceOf(metadata, request, pathBelow(request)))
    if (fronted !== undefined) return fronted
    if (isPreflight(request)) return PREFLIGHT
    if (isBelow(request, SERVER_METADATA)) return serverMetadataReply(metadata, issuers)
    const outcome = authenticate(exchange)
    return outcome instanceof Promise
      ? outcome.then((settled) => challenged(exchange, settled))
      : challenged(exchange, outcome)
  }
}

/** Serves requests for the authorization server; undefined: the request is for something else. */
export type ServerFront = (exchange: Exchange, resource: URL) => Reply | Promise<Reply> | undefined

/** The path of the resource, in a request for the metadata of its authorization server. */
function pathBelow({ path }: RequestAttributes): string {
  const own = path.slice(SERVER_METADATA.length)
  return own.replace(/\/(?:client-registration|authorize|token)$/, '') || '/'
}

function isBelow({ method, path }: RequestAttributes, place: string): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return path === place || path.startsWith(`${place}/`)
}

/** Browsers send a preflight for the metadata: MCP clients name their revision in a header. */
function isPreflight({ method, path, headers }: RequestAttributes): boolean {
  if (method !== 'OPTIONS' || headers.get('access-control-request-method') !== 'GET') return false
  const asked = { method: 'GET', path } as RequestAttributes
  return isBelow(asked, WELL_KNOWN) || isBelow(asked, SERVER_METADATA)
}

const PREFLIGHT: Reply = reply(
  204,
  'direct-response',
  '',
  headerEdit({
    set: [
      { name: 'access-control-allow-origin', value: '*' },
      { name: 'access-control-allow-methods', value: 'GET' },
      { name: 'access-control-allow-headers', value: 'mcp-protocol-version' },
      { name: 'access-control-max-age', value: '600' },
    ],
  }),
)

/** Redirects to the metadata of the authorization server. */
function serverMetadataReply(metadata: ResourceMetadata, issuers: readonly string[]): Reply {
  const [first = ''] = metadata.authorizationServers ?? issuers
  const url = URL.parse(first)
  if (url === null || !/^https?:$/.test(url.protocol)) return reply(404, 'no-route')
  const path = url.pathname === '/' ? '' : url.pathname.replace(/\/$/, '')
  const location = `${url.origin}${SERVER_METADATA}${path}`
  const set = [
    { name: 'location', value: location },
    { name: 'access-control-allow-origin', value: '*' },
  ]
  return reply(307, 'redirect', '', headerEdit({ set }))
}

/** As configured; by default as the client addressed it. */
function resourceOf({ resource }: ResourceMetadata, request: RequestAttributes, path: string) {
  if (resource !== undefined && URL.canParse(resource)) return new URL(resource)
  const host = request.headers.get('host') ?? request.host
  return new URL(`${request.scheme}://${host}${path}`)
}

function metadataUrl(metadata: ResourceMetadata, request: RequestAttributes): string {
  const { origin, pathname } = resourceOf(metadata, request, request.path)
  return `${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}`
}

/** Without issuers, the gateway itself is the authorization server for clients. */
function metadataReply(
  metadata: ResourceMetadata,
  issuers: readonly string[] | undefined,
  request: RequestAttributes,
): Reply {
  const path = request.path.slice(WELL_KNOWN.length)
  const resource = resourceOf(metadata, request, path || '/')
  const own = [withoutSlash(`${resource.origin}${resource.pathname}`)]
  const body = {
    resource: resource.href,
    authorization_servers: metadata.authorizationServers ?? issuers ?? own,
    bearer_methods_supported: metadata.bearerMethodsSupported ?? ['header'],
    scopes_supported: metadata.scopesSupported,
    resource_name: metadata.resourceName,
    resource_documentation: metadata.resourceDocumentation,
    resource_policy_uri: metadata.resourcePolicyUri,
    resource_tos_uri: metadata.resourceTosUri,
  }
  const said = reply(200, 'direct-response', `${JSON.stringify(body)}\n`, PUBLIC)
  return { ...said, contentType: 'application/json' }
}

function withChallenge(outcome: Reply, more: string): Reply {
  const { removed, added } = outcome.headers
  const changed = added.map(([name, value]) =>
    name === CHALLENGE ? ([name, `${value}${more}`] as const) : ([name, value] as const),
  )
  return { ...outcome, headers: new HeaderEdit(removed, changed) }
}
