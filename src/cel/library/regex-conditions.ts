import { EDGE, NEWLINE, OTHER, WORD } from './regex-alphabet.ts'
import {
  BEGIN_LINE,
  BEGIN_TEXT,
  END_LINE,
  END_TEXT,
  NO_WORD_BOUNDARY,
  WORD_BOUNDARY,
} from './regex-program.ts'

export function kindBefore(text: string, at: number): number {
  return at === 0 ? EDGE : kindOf(text.charCodeAt(at - 1))
}

/** The kind of a character; `undefined` is the end of the string. */
export function kindOf(code: number | undefined): number {
  if (code === undefined) return EDGE
  if (code === 0x0a) return NEWLINE
  const isWord =
    (code >= 0x30 && code <= 0x39) ||
    (code >= 0x41 && code <= 0x5a) ||
    code === 0x5f ||
    (code >= 0x61 && code <= 0x7a)
  return isWord ? WORD : OTHER
}

/** The conditions that hold between two characters of these kinds. */
export function conditions(before: number, after: number): number {
  let held = (before === WORD) === (after === WORD) ? NO_WORD_BOUNDARY : WORD_BOUNDARY
  if (before === EDGE) held |= BEGIN_TEXT | BEGIN_LINE
  if (before === NEWLINE) held |= BEGIN_LINE
  if (after === EDGE) held |= END_TEXT | END_LINE
  if (after === NEWLINE) held |= END_LINE
  return held
}
