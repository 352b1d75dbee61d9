import { headerBytes } from '../../exchange/header-text.ts'
import { isHeaderValue } from '../../exchange/header-value.ts'
import type { RequestId } from '../../telemetry/request-id.ts'
import { DASH, FOLD, UNDERSCORE } from './ascii.ts'
import { HIDDEN, isReserved } from './field-names.ts'
import { type Fields, nameLength, nameOffset } from './fields.ts'
import { isToken } from './message.ts'

declare const checked: unique symbol

/** Field lines that are safe to write: only `fieldLine` creates them. */
export type FieldLines = string & { readonly [checked]: true }

export const NO_LINES = '' as FieldLines

/**
 * Creates one line of a head, with the value in UTF-8. Undefined if the name is not a token or is
 * reserved for the writer, or if the value contains controls, which could end the line.
 */
export function fieldLine(name: string, value: string): FieldLines | undefined {
  if (!isToken(name) || isReserved(name.toLowerCase()) || !isHeaderValue(value)) return undefined
  return `${name}: ${headerBytes(value)}\r\n` as FieldLines
}

/** The line with the request ID, which is always safe to write. */
export function requestIdLine(id: RequestId): FieldLines {
  return `x-request-id: ${id}\r\n` as FieldLines
}

export function joinLines(first: FieldLines, second: FieldLines): FieldLines {
  return (first + second) as FieldLines
}

/**
 * Controls except the tab, and characters beyond one byte. A search takes half the time of a loop.
 */
const UNFIT = /[^\t\x20-\x7e\x80-\xff]/

export function isFieldText(text: string): boolean {
  // Usually the string is empty, and even starting a search takes time.
  return text === '' || !UNFIT.test(text)
}

/** Names of fields that are not copied because they are removed or replaced. */
export interface NameSet {
  readonly names: readonly string[]
  /** A bit mask of the lengths (up to 31) of the names in the set. */
  readonly lengths: number
}

export function nameSet(names: readonly string[]): NameSet {
  const folded = names.map((name) => name.toLowerCase().replaceAll('_', '-'))
  const lengths = folded.reduce((bits, { length }) => bits | (1 << Math.min(length, 31)), 0)
  return { names: folded, lengths }
}

export const NO_NAMES: NameSet = nameSet([])

/**
 * Whether the set contains a field, with underscores treated as dashes: an edit that removes or
 * sets `x-user` must also keep the client's `x_user` from an upstream that treats both as one.
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

/** Hides the trailers in the set: a removed header must not come back after the body. */
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
