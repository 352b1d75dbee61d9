/** What is left of two lists without the same things at both ends; ends are exclusive. */
export interface ChangedRange {
  readonly start: number
  /** Of the first list. */
  readonly endBefore: number
  /** Of the second one. */
  readonly end: number
}

/** Of lists with thousands of things mostly one is different: counted loops, by identity. */
export function changedRange<T>(before: readonly T[], now: readonly T[]): ChangedRange {
  const shorter = Math.min(before.length, now.length)
  let start = 0
  while (start < shorter && before[start] === now[start]) start++
  let endBefore = before.length
  let end = now.length
  // No `at`, which is ten times as slow here.
  while (end > start && endBefore > start && before[endBefore - 1] === now[end - 1]) {
    end--
    endBefore--
  }
  return { start, endBefore, end }
}
