/** Whether a name is the pattern, or lies below `*.example.com`. */
export function isCovered(host: string, pattern: string): boolean {
  if (!pattern.startsWith('*.')) return host === pattern
  return host.length >= pattern.length && host.endsWith(pattern.slice(1))
}

/**
 * The hostnames of a route that a listener can ever see; undefined where it sees none of them.
 * Wildcards of both sides meet: `*.example.com` and `*.com` have names in common.
 */
export function reachable(
  hostnames: readonly string[],
  listener: string | undefined,
): readonly string[] | undefined {
  if (listener === undefined || hostnames.length === 0) return hostnames
  const seen = hostnames.filter((name) => intersects(name, listener))
  return seen.length === 0 ? undefined : seen
}

function intersects(a: string, b: string): boolean {
  return a === b || isCovered(a, b) || isCovered(b, a)
}
