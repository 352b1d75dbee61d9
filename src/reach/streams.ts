import { coverage } from '../model/hostnames.ts'
import type { TcpRoute } from '../model/tcp-route.ts'
import type { StreamPlace } from './where.ts'

type Named = Pick<StreamPlace, 'stream' | 'hostnames'>

/** The route with the longest name that covers the server name; exact ones before wildcards. */
export function streamFor(places: Iterable<Named>, serverName = ''): TcpRoute | undefined {
  let best: TcpRoute | undefined
  let bestRank = -1
  for (const { stream, hostnames } of places) {
    const rank = rankFor(hostnames, serverName)
    if (rank > bestRank) {
      best = stream
      bestRank = rank
    }
  }
  return best
}

/** Whether a backend gets any of its connections; otherwise they are closed. */
export function leadsToBackend({ action }: TcpRoute): boolean {
  return action.kind === 'forward' && action.backends.some(({ weight }) => weight > 0)
}

/** -1 where the route is not for this name. */
function rankFor(hostnames: readonly string[], serverName: string): number {
  if (hostnames.length === 0) return 0
  const covering = hostnames.filter((hostname) => coverage(hostname)(serverName))
  return Math.max(-1, ...covering.map(rankOf))
}

/** Of a name of a route: whose is higher takes what both cover. Empty: any name. */
export function rankOf(name: string): number {
  if (name === '') return 0
  return name.startsWith('*.') ? name.length : 1_000
}
