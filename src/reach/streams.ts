import { rankFor, rankOf } from '../model/hostnames.ts'
import type { TcpRoute } from '../model/tcp-route.ts'
import type { StreamPlace } from './where.ts'

type Named = Pick<StreamPlace, 'stream' | 'hostnames'>

/** The route with the longest name that covers the server name; exact names before wildcards. */
export function streamFor(places: Iterable<Named>, serverName = ''): TcpRoute | undefined {
  let best: TcpRoute | undefined
  let bestRank = -1
  for (const { stream, hostnames } of places) {
    const rank = highestFor(hostnames, serverName)
    if (rank > bestRank) {
      best = stream
      bestRank = rank
    }
  }
  return best
}

/** Whether a backend receives any of its connections; if not, they are closed. */
export function leadsToBackend({ action }: TcpRoute): boolean {
  return action.kind === 'forward' && action.backends.some(({ weight }) => weight > 0)
}

/** -1 if the route does not match the name. */
function highestFor(hostnames: readonly string[], serverName: string): number {
  if (hostnames.length === 0) return rankOf(undefined)
  return Math.max(...hostnames.map((hostname) => rankFor(hostname, serverName)))
}
