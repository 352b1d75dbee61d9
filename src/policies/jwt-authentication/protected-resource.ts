import type { RequestAttributes } from '../../exchange/attributes.ts'
import type { Exchange } from '../../exchange/exchange.ts'
import { HeaderEdit, headerEdit } from '../../exchange/header-edit.ts'
import { type Reply, reply } from '../../exchange/reply.ts'
import type { Outcome, Step } from '../../exchange/step.ts'
import type { ResourceMetadata } from './schema.ts'

/** RFC 9728 §3: before the path of the resource. */
const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** RFC 8414 §3: where clients of revision 2025-03-26 look, on the host of the resource itself. */
const SERVER_METADATA = '/.well-known/oauth-authorization-server'

const CHALLENGE = 'www-authenticate'

/** Browsers read the metadata from any page: it says nothing that is secret. */
const PUBLIC = headerEdit({ set: [{ name: 'access-control-allow-origin', value: '*' }] })

/**
 * What a resource server of OAuth owes its clients beside checking tokens: metadata that says which
 * authorization servers it believes, and challenges that say where the metadata is.
 */
export function protectedResource(
  metadata: ResourceMetadata,
  issuers: readonly string[],
  authenticate: Step,
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
    if (isBelow(request, WELL_KNOWN)) return metadataReply(metadata, issuers, request)
    if (isBelow(request, SERVER_METADATA)) return serverMetadataReply(metadata, issuers)
    const outcome = authenticate(exchange)
    return outcome instanceof Promise
      ? outcome.then((settled) => challenged(exchange, settled))
      : challenged(exchange, outcome)
  }
}

function isBelow({ method, path }: RequestAttributes, place: string): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return path === place || path.startsWith(`${place}/`)
}

/** The authorization server speaks for itself; the gateway says where. */
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

/** As the configuration says; else as the client reached it. */
function resourceOf({ resource }: ResourceMetadata, request: RequestAttributes, path: string) {
  if (resource !== undefined && URL.canParse(resource)) return new URL(resource)
  const host = request.headers.get('host') ?? request.host
  return new URL(`${request.scheme}://${host}${path}`)
}

function metadataUrl(metadata: ResourceMetadata, request: RequestAttributes): string {
  const { origin, pathname } = resourceOf(metadata, request, request.path)
  return `${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}`
}

function metadataReply(
  metadata: ResourceMetadata,
  issuers: readonly string[],
  request: RequestAttributes,
): Reply {
  const path = request.path.slice(WELL_KNOWN.length)
  const body = {
    resource: resourceOf(metadata, request, path || '/').href,
    authorization_servers: metadata.authorizationServers ?? issuers,
    bearer_methods_supported: metadata.bearerMethodsSupported ?? ['header'],
    scopes_supported: metadata.scopesSupported,
    resource_name: metadata.resourceName,
    resource_documentation: metadata.resourceDocumentation,
    resource_policy_uri: metadata.resourcePolicyUri,
    resource_tos_uri: metadata.resourceTosUri,
  }
  const own = reply(200, 'direct-response', `${JSON.stringify(body)}\n`, PUBLIC)
  return { ...own, contentType: 'application/json' }
}

function withChallenge(outcome: Reply, more: string): Reply {
  const { removed, added } = outcome.headers
  const changed = added.map(([name, value]) =>
    name === CHALLENGE ? ([name, `${value}${more}`] as const) : ([name, value] as const),
  )
  return { ...outcome, headers: new HeaderEdit(removed, changed) }
}
