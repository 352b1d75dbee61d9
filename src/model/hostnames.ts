/** Whether a name equals the pattern or is below it: `a.b.example.com` is below `*.example.com`. */
export function coverage(pattern: string): (host: string) => boolean {
  if (!pattern.startsWith('*.')) return (host) => host === pattern
  const suffix = pattern.slice(1)
  return (host) => host.length > suffix.length && host.endsWith(suffix)
}

/** If two names cover a host, the one with the higher rank wins. No name covers any host. */
export function rankOf(name: string | undefined): number {
  if (name === undefined || name === '' || name === '*') return 0
  return name.startsWith('*.') ? name.length : EXACT
}

/** Longer than any wildcard. */
const EXACT = 1_000

/** Like `rankOf`, but -1 if the name does not cover the host. */
export function rankFor(name: string | undefined, host: string): number {
  const rank = rankOf(name)
  return rank > 0 && name !== undefined && !coverage(name)(host) ? -1 : rank
}

/**
 * The hostnames of a route that a listener can receive; undefined if it receives none of them.
 * Wildcards on both sides are compared: `*.example.com` and `*.com` have names in common.
 */
export function reachable(
  hostnames: readonly string[],
  listener: string | undefined,
): readonly string[] | undefined {
  if (hostnames.includes('*')) return []
  if (listener === undefined || hostnames.length === 0) return hostnames
  const seen = hostnames.filter((name) => intersects(name, listener))
  return seen.length === 0 ? undefined : seen
}

function intersects(a: string, b: string): boolean {
  return a === b || coverage(a)(b) || coverage(b)(a)
}
