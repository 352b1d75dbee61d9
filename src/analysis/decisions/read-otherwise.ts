import type { Entry } from '../diff/entries.ts'
import type { Point, Reading } from '../points.ts'

/** How the gateway reads requests on this way. */
export function readingAt({ points }: Entry): Reading {
  return (points[0] as Point).reading
}

/** The changed setting, if any, by which routes and rules may see a different request, or none. */
export function readOtherwise(entry: Entry, before: Entry, path: string): string | undefined {
  const [own, old] = [readingAt(entry), readingAt(before)]
  return (Object.keys(own) as (keyof Reading)[]).find((name) => {
    if (own[name] === old[name]) return false
    // The request fit within the limit at the time, and no record says how much it needed.
    if (LIMITS.has(name)) return limitOf(own[name]) < limitOf(old[name])
    // Preserved slashes are in the record; without any, there is nothing to merge.
    return name !== 'mergeSlashes' || old.mergeSlashes || path.includes('//')
  })
}

/** Requests that exceed these are rejected before any rule is evaluated. */
const LIMITS: ReadonlySet<keyof Reading> = new Set([
  'maxHeadSize',
  'http1MaxHeaders',
  'http2MaxHeaderSize',
  'maxBodySize',
])

function limitOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.POSITIVE_INFINITY
}
