import { SPACE, TAB } from './ascii.ts'

/**
 * Strips surrounding spaces and tabs; `trim` would strip more. Not a regular expression: one for
 * trailing whitespace restarts at each inner space, which is quadratic.
 */
export function unpadded(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isPadding(text.charCodeAt(start))) start++
  while (end > start && isPadding(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isPadding(code: number): boolean {
  return code === SPACE || code === TAB
}
