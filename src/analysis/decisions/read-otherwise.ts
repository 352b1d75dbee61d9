import type { Entry } from '../diff/entries.ts'
import type { Point, Reading } from '../points.ts'

/** How requests are read on this way. */
export function readingAt({ points }: Entry): Reading {
  return (points[0] as Point).reading
}

/** The setting by which routes and rules may see another request than they saw then, or none. */
export function readOtherwise(entry: Entry, before: Entry, path: string): string | undefined {
  const [own, old] = [readingAt(entry), readingAt(before)]
  return (Object.keys(own) as (keyof Reading)[]).find((name) => {
    if (own[name] === old[name]) return false
    // What was read then had room, and no record says how much it needed.
    if (LIMITS.has(name)) return limitOf(own[name]) < limitOf(old[name])
    // Slashes that were kept are on record, and there is nothing to merge.
    return name !== 'mergeSlashes' || old.mergeSlashes || path.includes('//')
  })
}

/** What does not fit is rejected before any rule. */
const LIMITS: ReadonlySet<keyof Reading> = new Set([
  'maxHeadSize',
  'http1MaxHeaders',
  'http2MaxHeaderSize',
  'maxBodySize',
])

function limitOf(value: unknown): number {
  return typeof value === 'number' ? value : Number.POSITIVE_INFINITY
}
