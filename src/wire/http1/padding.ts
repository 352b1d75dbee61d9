import { SPACE, TAB } from './ascii.ts'

/**
 * Without the spaces and tabs around; `trim` would take more than these. Not a regular expression:
 * one for those at the end tries again from each space within, which is quadratic.
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
