import type { Tree } from './document.ts'

/** A backend that gets a share of the requests of a route, by chance. */
export interface Share {
  /** `host:port` */
  readonly host: string
  /** The name that the gateway uses. */
  readonly name: string
  readonly weight: number
}

/** The backends of the only route of a file with several; at most one route gets several. */
export function sharesIn(tree: Tree): readonly Share[] {
  const named = new Map(
    ((tree['backends'] ?? []) as readonly Tree[]).map((one) => [one['name'], one['host']]),
  )
  for (const route of (tree['routes'] ?? []) as readonly Tree[]) {
    const refs = (route['backends'] ?? []) as readonly Tree[]
    const all = refs.map((ref, index) => ({
      host: String(ref['host'] ?? named.get(ref['backend'] as string)),
      name: (ref['backend'] ?? `${route['name']}/${index}`) as string,
      weight: (ref['weight'] ?? 1) as number,
    }))
    const own = all.filter(({ weight }) => weight > 0)
    if (own.length > 1) return own
  }
  return []
}

/** The random value that selects this backend; the first if it has no share. */
export function diceFor(shares: readonly Share[], wanted: string | undefined): number {
  const total = shares.reduce((sum, { weight }) => sum + weight, 0)
  let before = 0
  for (const { host, weight } of shares) {
    if (host === wanted) return (before + weight / 2) / total
    before += weight
  }
  return 0
}
