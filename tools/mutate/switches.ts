import type { Mutant } from './mutant.ts'

/**
 * The text with all of its mutants, each behind a switch: it behaves as before until
 * `globalThis.__mutant(id)` is true for one of them.
 */
export function writeSwitches(text: string, mutants: readonly Mutant[]): string {
  const outermostFirst = mutants.toSorted((a, b) => a.start - b.start || b.end - a.end)
  return render(text, 0, text.length, outermostFirst)
}

/** `mutants` are those between `start` and `end`. */
function render(text: string, start: number, end: number, mutants: readonly Mutant[]): string {
  const parts: string[] = []
  let position = start
  let rest = mutants
  while (rest[0] !== undefined) {
    const [first] = rest
    const alike = rest.filter((mutant) => mutant.start === first.start && mutant.end === first.end)
    const inner = rest.filter((mutant) => mutant.start < first.end && !alike.includes(mutant))
    parts.push(text.slice(position, first.start))
    parts.push(choice(alike, render(text, first.start, first.end, inner)))
    position = first.end
    rest = rest.filter((mutant) => mutant.start >= first.end)
  }
  return parts.join('') + text.slice(position, end)
}

function choice(mutants: readonly Mutant[], original: string): string {
  const chosen = mutants.map(
    ({ id, replacement }) => `globalThis.__mutant?.(${id}) ? (${replacement}) : `,
  )
  const expression = `${chosen.join('')}(${original})`
  // Without semicolons, a statement cannot begin with a parenthesis.
  return mutants.some(({ isStatement }) => isStatement) ? expression : `(${expression})`
}
