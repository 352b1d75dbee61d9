/** Whether a name is the pattern, or lies below it: `a.b.example.com` below `*.example.com`. */
export function coverage(pattern: string): (host: string) => boolean {
  if (!pattern.startsWith('*.')) return (host) => host === pattern
  const suffix = pattern.slice(1)
  return (host) => host.length > suffix.length && host.endsWith(suffix)
}

/** Of two names that cover a host the one with the higher rank takes it. Without one: any host. */
export function rankOf(name: string | undefined): number {
  if (name === undefined || name === '' || name === '*') return 0
  return name.startsWith('*.') ? name.length : EXACT
}

/** Longer than any wildcard can be. */
const EXACT = 1_000

/** The same, or -1 if it does not cover the host. */
export function rankFor(name: string | undefined, host: string): number {
  const rank = rankOf(name)
  return rank > 0 && name !== undefined && !coverage(name)(host) ? -1 : rank
}

/**
 * The hostnames of a route that a listener can ever see; undefined where it sees none of them.
 * Wildcards of both sides meet: `*.example.com` and `*.com` have names in common.
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
