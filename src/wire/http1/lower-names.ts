import type { FieldLines } from './field-lines.ts'
import { type Fields, fieldName, nameLength, nameOffset } from './fields.ts'

const [UPPER_A, UPPER_Z] = [0x41, 0x5a]

/** Converts the names of a received head or trailer section to lower case; offsets stay valid. */
export function lowerNames(fields: Fields): void {
  const { text } = fields
  let lowered = ''
  let copied = 0
  for (let i = 0; i < fields.count; i++) {
    const from = nameOffset(fields, i)
    const to = from + nameLength(fields, i)
    if (!hasUpper(text, from, to)) continue
    lowered += text.substring(copied, from) + fieldName(fields, i).toLowerCase()
    copied = to
  }
  if (copied > 0) fields.text = lowered + text.substring(copied)
}

/** The same for added lines. */
export function lowerLines(lines: FieldLines): FieldLines {
  if (lines === '') return lines
  return lines.replace(/^[^:]+/gm, (name) => name.toLowerCase()) as FieldLines
}

function hasUpper(text: string, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const code = text.charCodeAt(i)
    if (code >= UPPER_A && code <= UPPER_Z) return true
  }
  return false
}
