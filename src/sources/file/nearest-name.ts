import { nearest } from '../../policies/schema.ts'

/** The known name that was probably meant; two letters in the wrong order are one mistake. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  return known.find((other) => isSwapped(name, other)) ?? nearest(name, known)
}

function isSwapped(name: string, other: string): boolean {
  if (name.length !== other.length) return false
  const at = [...name].findIndex((letter, index) => letter !== other[index])
  const swapped = name.slice(0, at) + name.charAt(at + 1) + name.charAt(at) + name.slice(at + 2)
  return at >= 0 && swapped === other
}
