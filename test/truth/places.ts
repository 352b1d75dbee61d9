import { isTree, type Tree } from './document.ts'
import type { Outcome } from './wire.ts'

/** Names of things in a file, read off its tree. */

export function gatewayAt(tree: Tree, port: number): string | undefined {
  const gateways = Object.entries((tree['gateways'] ?? {}) as Tree)
  return gateways.find(([, own]) => isTree(own) && own['port'] === port)?.[0]
}

export function portOfGateway(tree: Tree, gateway: string): number | undefined {
  const own = ((tree['gateways'] ?? {}) as Tree)[gateway]
  return isTree(own) ? (own['port'] as number) : undefined
}

/** The routes that lead to the backend which answered; none where it cannot be told. */
export function routesBy(tree: Tree, { by }: Outcome): readonly string[] {
  if (by === undefined || by === 0) return []
  const named = new Map(
    ((tree['backends'] ?? []) as readonly Tree[]).map((one) => [one['name'], one['host']]),
  )
  const all = [
    ...((tree['routes'] ?? []) as readonly Tree[]),
    ...((tree['tcpRoutes'] ?? []) as readonly Tree[]),
  ]
  return all
    .filter((route) =>
      ((route['backends'] ?? []) as readonly Tree[]).some((ref) =>
        String(ref['host'] ?? named.get(ref['backend'] as string)).endsWith(`:${by}`),
      ),
    )
    .map((route) => route['name'] as string)
}

export function proxyProtocolOf(tree: Tree): Tree | undefined {
  const own = (tree['frontendPolicies'] as Tree | undefined)?.['proxyProtocol']
  return isTree(own) ? own : undefined
}

/** The addresses of clients make a difference, and nothing here can come from all of them. */
export function readsAddresses(tree: Tree): boolean {
  return /source\.(raw)?[aA]ddress/.test(JSON.stringify(tree))
}
