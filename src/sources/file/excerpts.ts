import { readFileSync } from 'node:fs'
import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import { lineStarts, type Place, withExcerpt } from './document.ts'

/**
 * Adds excerpts to diagnostics found after the file was read, when it is compiled or applied. Adds
 * nothing if the file can no longer be read.
 */
export function withExcerpts(
  path: string,
  diagnostics: readonly Diagnostic[],
): readonly Diagnostic[] {
  if (diagnostics.every(({ excerpt }) => excerpt !== undefined)) return diagnostics
  const place = placeOf(path)
  return place === undefined ? diagnostics : diagnostics.map((one) => withExcerpt(place, one))
}

function placeOf(path: string): Place | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    return { file: path, text, lines: lineStarts(text) }
  } catch {
    return undefined
  }
}
