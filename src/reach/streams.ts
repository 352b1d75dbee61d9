import { rankFor, rankOf } from '../model/hostnames.ts'
import type { TcpRoute } from '../model/tcp-route.ts'
import type { StreamPlace } from './where.ts'

type Named = Pick<StreamPlace, 'stream' | 'hostnames'>

/** The route with the longest name that covers the server name; exact ones before wildcards. */
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

/** Whether a backend gets any of its connections; otherwise they are closed. */
export function leadsToBackend({ action }: TcpRoute): boolean {
  return action.kind === 'forward' && action.backends.some(({ weight }) => weight > 0)
}

/** -1 where the route is not for this name. */
function highestFor(hostnames: readonly string[], serverName: string): number {
  if (hostnames.length === 0) return rankOf(undefined)
  return Math.max(...hostnames.map((hostname) => rankFor(hostname, serverName)))
}
