import type { RequestId } from '../../telemetry/request-id.ts'
import { DASH, FOLD, UNDERSCORE } from './ascii.ts'
import { HIDDEN, isReserved } from './field-names.ts'
import { type Fields, nameLength, nameOffset } from './fields.ts'
import { isToken } from './message.ts'

declare const checked: unique symbol

/** Field lines that are fit to be written: only `fieldLine` makes them. */
export type FieldLines = string & { readonly [checked]: true }

export const NO_LINES = '' as FieldLines

/**
 * One line of a head. Undefined where the name is no token or is reserved to the writer, or the
 * value has what could end the line or be cut to it: controls, or characters beyond one byte.
 */
export function fieldLine(name: string, value: string): FieldLines | undefined {
  if (!isToken(name) || isReserved(name.toLowerCase()) || !isFieldText(value)) return undefined
  return `${name}: ${value}\r\n` as FieldLines
}

/** The line with the id of a request, which is always fit to be written. */
export function requestIdLine(id: RequestId): FieldLines {
  return `x-request-id: ${id}\r\n` as FieldLines
}

export function joinLines(first: FieldLines, second: FieldLines): FieldLines {
  return (first + second) as FieldLines
}

/** Controls but for the tab, and characters beyond one byte. One search takes half of a loop's time. */
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/

export function isFieldText(text: string): boolean {
  // Most often there is none, and even to begin a search takes time.
  return text === '' || !UNFIT.test(text)
}

/** Names of fields that are not copied, because they are removed or set anew. */
export interface NameSet {
  readonly names: readonly string[]
  /** One bit for each length (of 31 at most) that a name of the set has. */
  readonly lengths: number
}

export function nameSet(names: readonly string[]): NameSet {
  const folded = names.map((name) => name.toLowerCase().replaceAll('_', '-'))
  const lengths = folded.reduce((bits, { length }) => bits | (1 << Math.min(length, 31)), 0)
  return { names: folded, lengths }
}

export const NO_NAMES: NameSet = nameSet([])

/**
 * Whether a field is of the set, with underscores as dashes: who removes or sets `x-user` does not
 * want the client's `x_user` to reach an upstream that takes the one for the other.
 */
export function isOfSet(set: NameSet, fields: Fields, index: number): boolean {
  const length = nameLength(fields, index)
  if ((set.lengths & (1 << Math.min(length, 31))) === 0) return false
  const from = nameOffset(fields, index)
  const { names } = set
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string
    if (name.length === length && isLikeName(fields.text, from, name)) return true
  }
  return false
}

/** The same of a trailer section: a header that is taken away must not come back behind the body. */
export function hideOfSet(set: NameSet, trailers: Fields): void {
  for (let i = 0; i < trailers.count; i++) {
    if (isOfSet(set, trailers, i)) trailers.kinds[i] = HIDDEN
  }
}

function isLikeName(text: string, from: number, name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const code = text.charCodeAt(from + i)
    if ((code === UNDERSCORE ? DASH : FOLD[code]) !== name.charCodeAt(i)) return false
  }
  return true
}
