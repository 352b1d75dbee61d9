import type { Diagnostic } from './diagnostic.ts'

/**
 * Diagnostics found after an expression was read, without those that its reader already reported.
 * Both point to the expression; the reader knows where in its line it begins, while the compiler
 * knows only where its rule begins. Each reported diagnostic removes one.
 */
export function withoutRepeated(
  said: readonly Diagnostic[],
  further: readonly Diagnostic[],
): readonly Diagnostic[] {
  if (said.length === 0) return further
  const open = new Map<string, number>()
  for (const one of said) open.set(keyOf(one), (open.get(keyOf(one)) ?? 0) + 1)
  return further.filter((one) => {
    const key = keyOf(one)
    const count = open.get(key) ?? 0
    open.set(key, count - 1)
    return count <= 0
  })
}

function keyOf({ code, message, origin, excerpt }: Diagnostic): string {
  const place = origin.kind === 'file' && excerpt !== undefined ? origin.file : origin
  return JSON.stringify([code, message, place, excerpt?.text, excerpt?.start, excerpt?.end])
}
