import { isTree, type Tree } from './document.ts'
import type { Outcome, Probe, Transport } from './wire.ts'

/** Looks up names in the tree of a file. */

export function gatewayAt(tree: Tree, port: number): string | undefined {
  const gateways = Object.entries((tree['gateways'] ?? {}) as Tree)
  return gateways.find(([, own]) => isTree(own) && own['port'] === port)?.[0]
}

export function portOfGateway(tree: Tree, gateway: string): number | undefined {
  const own = ((tree['gateways'] ?? {}) as Tree)[gateway]
  return isTree(own) ? (own['port'] as number) : undefined
}

/** The routes that lead to the backend which responded; none if it cannot be determined. */
export function routesBy(tree: Tree, { by }: Outcome): readonly string[] {
  if (by === undefined || by === 0) return []
  const named = new Map(
    ((tree['backends'] ?? []) as readonly Tree[]).map((one) => [one['name'], hostsOf(one)]),
  )
  const all = [
    ...((tree['routes'] ?? []) as readonly Tree[]),
    ...((tree['tcpRoutes'] ?? []) as readonly Tree[]),
  ]
  return all
    .filter((route) =>
      ((route['backends'] ?? []) as readonly Tree[]).some((ref) =>
        (named.get(ref['backend']) ?? hostsOf(ref)).includes(`:${by}"`),
      ),
    )
    .map((route) => route['name'] as string)
}

/** The host of a backend; all providers or servers of one, of which any may respond. */
function hostsOf({ host, ai, mcp }: Tree): string {
  return JSON.stringify([host, ai, mcp])
}

export function proxyProtocolOf(tree: Tree): Tree | undefined {
  const own = (tree['frontendPolicies'] as Tree | undefined)?.['proxyProtocol']
  return isTree(own) ? own : undefined
}

/**
 * Whether a port of the file accepts the beginning of the connection: with this PROXY header, or
 * none.
 */
export function takesProxyHeader(tree: Tree, { proxy }: Transport): boolean {
  const own = proxyProtocolOf(tree)
  if (proxy === undefined) return own === undefined || own['mode'] === 'Optional'
  const version = own?.['version'] ?? 'V2'
  return own !== undefined && (version === 'All' || version === `V${proxy.version}`)
}

/** The number of trusted proxies in front of the gateway. */
export function hopsOf(tree: Tree): number {
  const http = (tree['frontendPolicies'] as Tree | undefined)?.['http']
  return isTree(http) ? Number(http['trustedHops'] ?? 0) : 0
}

/**
 * The client address that the outermost of them reports; undefined if there are too few entries.
 */
export function forwardedFor(tree: Tree, { request }: Probe): string | undefined {
  const written = request.headers.filter(([name]) => name.toLowerCase() === 'x-forwarded-for')
  const list = written.flatMap(([, value]) => value.split(',')).map((one) => one.trim())
  return list.at(-hopsOf(tree))
}

/** Client addresses make a difference, and clients here cannot use all of them. */
export function readsAddresses(tree: Tree): boolean {
  return /source\.(raw)?[aA]ddress/.test(JSON.stringify(tree))
}

interface NamedListener {
  /** `gateway/listener` */
  readonly name: string
  readonly port: number
  readonly hostname: string | undefined
}

function namedListeners(tree: Tree): readonly NamedListener[] {
  return Object.entries(tree['gateways'] as Readonly<Record<string, Tree>>).flatMap(
    ([gateway, own]) => {
      const port = own['port'] as number
      const all = (own['listeners'] ?? [{ ...own, name: 'default' }]) as readonly Tree[]
      return all.map(({ name, hostname }) => ({
        name: `${gateway}/${name as string}`,
        port,
        hostname: hostname as string | undefined,
      }))
    },
  )
}

const covers = (pattern: string, name: string) =>
  pattern === name || (pattern.startsWith('*.') && name.endsWith(pattern.slice(1)))

/** Whether a listener of the port serves this server name: otherwise no handshake begins. */
export function servesName(tree: Tree, port: number, name: string | undefined): boolean {
  return namedListeners(tree).some(
    (one) =>
      one.port === port &&
      (one.hostname === undefined || covers(one.hostname, name?.toLowerCase() ?? '')),
  )
}

/** The listeners to which a route belongs, by its gateways and names. */
export function listenersOf(tree: Tree, route: string): readonly string[] {
  const own = ((tree['routes'] ?? []) as readonly Tree[]).find((one) => one['name'] === route)
  const gateways = (own?.['gateways'] ?? ['default']) as readonly string[]
  const hostnames = (own?.['hostnames'] ?? []) as readonly string[]
  return namedListeners(tree)
    .filter(({ name, hostname }) => {
      if (!gateways.includes(name.split('/')[0] as string)) return false
      if (hostname === undefined || hostnames.length === 0) return true
      return hostnames.some((one) => covers(one, hostname) || covers(hostname, one))
    })
    .map(({ name }) => name)
}

/** The listener of a request, by its port and host; undefined if it is ambiguous. */
export function listenerOf(tree: Tree, { transport, request }: Probe): string | undefined {
  const own = namedListeners(tree).filter(({ port }) => port === transport.port)
  if (own.length === 1) return own[0]?.name
  // Different server names and hosts follow their own rules.
  if (transport.tls !== undefined && transport.tls.sni !== request.host) return undefined
  const host = request.host?.toLowerCase() ?? ''
  if (!/^[a-z.]+[a-z]$/.test(host)) return undefined
  const exact = own.find(({ hostname }) => hostname === host)
  const wild = own.filter(
    ({ hostname = '' }) => hostname.startsWith('*.') && covers(hostname, host),
  )
  if (wild.length > 1) return undefined
  return (exact ?? wild[0] ?? own.find(({ hostname }) => hostname === undefined))?.name
}
