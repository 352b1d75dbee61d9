/** The known name that `name` was probably meant to be, for hints. */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let min = Math.max(1, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= min) continue
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance < min) {
      best = candidate
      min = distance
    }
  }
  return best
}

/** The Levenshtein distance, one row at a time. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1))
    }
    row = next
  }
  return row[b.length] as number
}

/** The known name that was probably meant; two swapped letters count as one mistake. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  return known.find((other) => isSwapped(name, other)) ?? nearest(name, known)
}

function isSwapped(name: string, other: string): boolean {
  if (name.length !== other.length) return false
  const at = [...name].findIndex((letter, index) => letter !== other[index])
  const swapped = name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2)
  return at >= 0 && swapped === other
}
