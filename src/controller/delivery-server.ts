import type { DeliveryEvents } from '../xds/ads.ts'
import {
  type Authority,
  AuthorityError,
  type AuthoritySecret,
  authorityFrom,
} from '../xds/authority.ts'
import { Publications } from '../xds/publications.ts'
import { serveXds, type TransportMode, type XdsServer } from '../xds/server.ts'
import { type GatewayOf, type ReviewClient, tokenReviews } from './token-review.ts'

export interface DeliveryServerOptions {
  readonly client: SecretClient
  /** The controller's namespace, where its Service and its Secret are. */
  readonly namespace: string
  readonly serviceName: string
  readonly port: number
  readonly host?: string
  readonly mode: TransportMode
  readonly gatewayOf: GatewayOf
  readonly events?: DeliveryEvents & {
    /** The certificates cannot be renewed; the existing ones stay. */
    readonly failed?: (error: Error) => void
  }
  /** Called when the known state of a Gateway's proxies changed. */
  readonly changed?: (gateway: string) => void
  /** Called when proxies trust other certificates: their deployments must be updated. */
  readonly trustChanged?: () => void
  readonly now?: () => number
}

export interface SecretClient extends ReviewClient {
  request(
    method: string,
    path: string,
    options?: { readonly body?: unknown; readonly contentType?: string },
  ): Promise<{ readonly status: number; readonly body: unknown }>
}

export interface DeliveryServer {
  readonly publications: Publications
  readonly port: number
  /** The address that proxies connect to. */
  readonly address: string
  /** The certificates that proxies trust; undefined if they connect without TLS. */
  readonly trust: () => string | undefined
  readonly close: () => Promise<void>
}

/** The chart grants the controller access to this Secret. */
const SECRET = 'portcullis-xds-cert'
/** Between two attempts to renew, in milliseconds. */
const RETRY = 60_000
/** Max interval for reading Secrets again: a user may have supplied another one. */
const MAX_WAIT = 10 * 60_000

/** Delivers Models to the proxies of a cluster, from every replica of the controller. */
export async function startDelivery(options: DeliveryServerOptions): Promise<DeliveryServer> {
  const { client, mode, namespace, serviceName, events = {}, now = Date.now } = options
  const publications = new Publications(options.changed)
  const hosts = [`${serviceName}.${namespace}.svc`, `${serviceName}.${namespace}`]
  hosts.push(`${serviceName}.${namespace}.svc.cluster.local`)
  let authority =
    mode === 'plaintext' ? undefined : await loadAuthority(client, namespace, hosts, now())
  const server: XdsServer = await serveXds({
    mode,
    port: options.port,
    ...(options.host !== undefined && { host: options.host }),
    publications,
    authenticate: tokenReviews(client, options.gatewayOf),
    events,
    ...(authority && { certificate: authority.serving }),
  })
  let timer: NodeJS.Timeout | undefined
  const schedule = (wait: number) => {
    timer = setTimeout(renew, Math.min(wait, MAX_WAIT))
    timer.unref()
  }
  const renew = async () => {
    try {
      const before = authority?.trust
      authority = await loadAuthority(client, namespace, hosts, now())
      server.useCertificate(authority.serving)
      if (authority.trust !== before) options.trustChanged?.()
      schedule(authority.renewAt - now())
    } catch (error) {
      events.failed?.(error as Error)
      schedule(RETRY)
    }
  }
  if (authority !== undefined) schedule(authority.renewAt - now())
  const scheme = mode === 'plaintext' ? 'http' : 'https'
  return {
    publications,
    port: server.port,
    address: `${scheme}://${serviceName}.${namespace}.svc:${server.port}`,
    trust: () => authority?.trust,
    close: async () => {
      clearTimeout(timer)
      await server.close()
    },
  }
}

interface SecretObject {
  readonly metadata?: { readonly resourceVersion?: string }
  readonly data?: Readonly<Record<string, string>>
}

/** Replicas start at the same time: the one that writes second uses the Secret of the first. */
const ATTEMPTS = 5

export async function loadAuthority(
  client: SecretClient,
  namespace: string,
  hosts: readonly string[],
  now: number,
): Promise<Authority> {
  const all = `/api/v1/namespaces/${namespace}/secrets`
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { status, body } = await client.request('GET', `${all}/${SECRET}`)
    if (status !== 200 && status !== 404) throw new Error(`reading Secret ${SECRET}: ${status}`)
    const found = status === 200 ? (body as SecretObject) : undefined
    const authority = named(() => authorityFrom(found && entriesOf(found), hosts, now))
    if (authority.write === undefined) return authority
    const written = await write(client, all, found, authority.write)
    if (written >= 200 && written < 300) return authority
    if (written !== 409) throw new Error(`writing Secret ${SECRET}: ${written}`)
  }
  throw new Error(`Secret ${SECRET}: too many conflicting updates`)
}

async function write(
  client: SecretClient,
  all: string,
  found: SecretObject | undefined,
  entries: AuthoritySecret,
): Promise<number> {
  const encoded = Object.entries(entries).map(([name, text]) => [
    name,
    Buffer.from(text).toString('base64'),
  ])
  const kept: Record<string, string | null> = Object.fromEntries(encoded)
  if (found === undefined) {
    const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: SECRET }, data: kept }
    return (await client.request('POST', all, { body })).status
  }
  for (const name of Object.keys(found.data ?? {})) kept[name] ??= null
  const { resourceVersion } = found.metadata ?? {}
  const body = { metadata: { resourceVersion }, data: kept }
  const contentType = 'application/merge-patch+json'
  return (await client.request('PATCH', `${all}/${SECRET}`, { body, contentType })).status
}

function entriesOf({ data = {} }: SecretObject): AuthoritySecret {
  const entries = Object.entries(data).map(([name, value]) => [
    name,
    Buffer.from(value, 'base64').toString(),
  ])
  return Object.fromEntries(entries)
}

function named(make: () => Authority): Authority {
  try {
    return make()
  } catch (error) {
    if (!(error instanceof AuthorityError)) throw error
    throw new AuthorityError(`Secret ${SECRET}: ${error.message}`)
  }
}
